/* Activations that live in L3: parts of them in flight to and from buffers in L2.
 *
 * Transfers are done in the order in which they were started, in the background. Any core may start some. */
#ifndef TW_L3_TILES_H
#define TW_L3_TILES_H

#include <stdint.h>

#include "l3.h"

/* The first byte of L3 behind the image of the constants. */
#define TW_L3_ARENA (((uint32_t)(tw_l3_image_end - tw_l3_image) + 15u) & ~15u)

/* Starts to copy `rows` runs of `row` bytes: contiguous in L2, `stride` bytes apart in L3. Returns a mark
 * to wait for. */
uint32_t tw_l3_load(void *l2, uint32_t l3, uint32_t rows, uint32_t row, uint32_t stride);
uint32_t tw_l3_store(uint32_t l3, const void *l2, uint32_t rows, uint32_t row, uint32_t stride);

/* Copies a result from L1 into a buffer of L2, and returns when it is there. A core with a group of
 * transfers starts none of them after this. */
void tw_l3_put(void *l2, const void *l1, uint32_t bytes);

/* Returns when that transfer and all before it are done. */
void tw_l3_wait(uint32_t mark);

#endif
