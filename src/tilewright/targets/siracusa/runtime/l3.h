/* L3: a HyperRAM that only its transfer engine reaches. */
#ifndef TW_L3_H
#define TW_L3_H

#include <stdint.h>

/* Where the image of L3 begins and ends in the program; its constants lie there as in L3. */
extern const uint8_t tw_l3_image[], tw_l3_image_end[];
#define TW_L3_ADDRESS(constant) ((uint32_t)((const uint8_t *)(constant)-tw_l3_image))

/* Starts to copy bytes of L3 into L2. Transfers are done in their order. */
void tw_l3_stage(void *l2, uint32_t l3, uint32_t bytes);
void tw_l3_write(uint32_t l3, const void *l2, uint32_t bytes);

/* Returns when all of them are done. */
void tw_l3_stage_wait(void);

/* Once, before anything else. */
void tw_l3_open(void);

/* Fills L3 with an image that cores can read, by way of `size` bytes of L2. */
void tw_l3_fill(const void *image, uint32_t bytes, void *staging, uint32_t size);

#endif
