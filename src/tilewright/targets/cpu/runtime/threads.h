/* A pool of threads that compute the parts of a layer. */
#ifndef TILEWRIGHT_THREADS_H
#define TILEWRIGHT_THREADS_H

#include "prefix.h"

/* Computes one part of a layer. `pointers` holds the layer's pointers; `thread` is the one that computes, 0 the caller. */
typedef void tw_layer(const void *pointers, int part, int thread);

/* Computes all parts of a layer in this thread and those of the pool, and returns when all are done. Without a pool, or
 * while the pool is busy, this thread computes all of them. */
void tw_parallel(tw_layer *layer, const void *pointers, int parts);

/* Makes a pool of `threads` threads, including the caller. With `pinned`, each of the others stays on its own processor,
 * never on the first one. Returns 0, or 1 if the system refuses a thread. Does nothing if there is a pool. */
int tw_start_pool(int threads, int pinned);

/* Ends the pool. Nobody may be computing. */
void tw_stop_pool(void);

#endif
