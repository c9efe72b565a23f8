/* FAR: one link behind RAM. The program is loaded with its constants in place. */
#ifndef FAR_H
#define FAR_H

#include <stdint.h>

extern const uint8_t tw_far_image[], tw_far_image_end[];
#define TW_FAR_ADDRESS(constant) ((uint32_t)((const uint8_t *)(constant)-tw_far_image))

void tw_far_open(void);
void tw_far_fill(const void *image, uint32_t bytes, void *staging, uint32_t size);
void tw_far_stage(void *ram, uint32_t far, uint32_t bytes);
void tw_far_stage_wait(void);

#endif
