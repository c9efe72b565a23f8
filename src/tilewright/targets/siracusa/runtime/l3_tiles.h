/* Activations in L3: tiles move to and from buffers in L2, in the background. Transfers complete in the order in which they
 * were started. Any core may start one. */
#ifndef TW_L3_TILES_H
#define TW_L3_TILES_H

#include <stdint.h>

#include "l3.h"

/* First byte of L3 after the constants. */
#define TW_L3_ARENA (((uint32_t)(tw_l3_image_end - tw_l3_image) + 15u) & ~15u)

/* Starts to copy `rows` runs of `row` bytes: contiguous in L2, `stride` bytes apart in L3. Returns a mark
 * to wait for. */
uint32_t tw_l3_load(void *l2, uint32_t l3, uint32_t rows, uint32_t row, uint32_t stride);
uint32_t tw_l3_store(uint32_t l3, const void *l2, uint32_t rows, uint32_t row, uint32_t stride);

/* Copies a result from L1 to a buffer in L2 and waits for it. A core that has opened a group starts no transfer of it after
 * this call. */
void tw_l3_put(void *l2, const void *l1, uint32_t bytes);

/* Waits for this transfer and all before it. */
void tw_l3_wait(uint32_t mark);

#endif
