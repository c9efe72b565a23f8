/* Activations that live in the store (L3): parts of them on their way to and from buffers in the far memory (L2).
 *
 * Transfers are done in the order in which they were started, in the background. Any core may start some. */
#ifndef TW_DEEP_H
#define TW_DEEP_H

#include <stdint.h>

#include "store.h"

/* The first byte of the store behind the image of the constants. */
#define TW_DEEP (((uint32_t)(tw_store_end - tw_store_start) + 15u) & ~15u)

/* Starts to copy `rows` runs of `row` bytes: together in the far memory, `stride` bytes apart in the store. Returns a mark
 * to wait for. */
uint32_t tw_deep_read(void *far, uint32_t store, uint32_t rows, uint32_t row, uint32_t stride);
uint32_t tw_deep_write(uint32_t store, const void *far, uint32_t rows, uint32_t row, uint32_t stride);

/* Copies a result from the near memory into a buffer of the far one, and returns when it is there. A core with a group of
 * transfers starts none of them after this. */
void tw_deep_put(void *far, const void *near, uint32_t bytes);

/* Returns when that transfer and all before it are done. */
void tw_deep_wait(uint32_t mark);

#endif
