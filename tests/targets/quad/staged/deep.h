/* DEEP: two links behind RAM, by way of FAR. The program is loaded with its constants in place. */
#ifndef DEEP_H
#define DEEP_H

#include <stdint.h>

extern const uint8_t tw_deep_image[], tw_deep_image_end[];
#define TW_DEEP_ADDRESS(constant) ((uint32_t)((const uint8_t *)(constant)-tw_deep_image))

void tw_deep_open(void);
void tw_deep_fill(const void *image, uint32_t bytes, void *staging, uint32_t size);

/* To a place in FAR, counted from its first byte. */
void tw_deep_stage(void *far, uint32_t deep, uint32_t bytes);
void tw_deep_stage_wait(void);

#endif
