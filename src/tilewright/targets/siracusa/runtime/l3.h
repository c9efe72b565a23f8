/* L3: a HyperRAM that only its transfer engine reaches. */
#ifndef TW_L3_H
#define TW_L3_H

#include <stdint.h>

/* Start and end of the L3 image in the program. Constants have the same offsets there as in L3. */
extern const uint8_t tw_l3_image[], tw_l3_image_end[];
#define TW_L3_ADDRESS(constant) ((uint32_t)((const uint8_t *)(constant)-tw_l3_image))

/* Starts a copy from L3 to L2. Transfers complete in order. */
void tw_l3_stage(void *l2, uint32_t l3, uint32_t bytes);
void tw_l3_write(uint32_t l3, const void *l2, uint32_t bytes);

/* Returns when all of them are done. */
void tw_l3_stage_wait(void);

/* Once, before anything else. */
void tw_l3_open(void);

/* Copies the image into L3 through a buffer of `size` bytes in L2. */
void tw_l3_fill(const void *image, uint32_t bytes, void *staging, uint32_t size);

#endif
