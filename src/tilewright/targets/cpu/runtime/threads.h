/* A pool of threads that compute the parts of a layer. */
#ifndef TILEWRIGHT_THREADS_H
#define TILEWRIGHT_THREADS_H

#include "prefix.h"

/* Computes one part of a layer, whose pointers are behind `pointers`. */
typedef void tw_layer(const void *pointers, int part);

/* Computes all parts of a layer, in this thread and those of the pool; returns when all are done. Without a pool, or
 * while the pool works for somebody else, this thread computes all. */
void tw_parallel(tw_layer *layer, const void *pointers, int parts);

/* Makes a pool of `threads`, of which the caller is one; pinned, the others stay on a processor each, none of them on
 * the first one. Returns 0, or 1 if the system refuses a thread. Nothing is done if there is a pool. */
int tw_start_pool(int threads, int pinned);

/* Ends the pool. Nobody may be computing. */
void tw_stop_pool(void);

#endif
