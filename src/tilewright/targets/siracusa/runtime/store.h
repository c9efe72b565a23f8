/* The store (L3): a HyperRAM that only its transfer engine reaches. */
#ifndef TW_STORE_H
#define TW_STORE_H

#include <stdint.h>

/* Where the image of the store begins and ends in the program; constants of the store lie there as in the store. */
extern const uint8_t tw_store_start[], tw_store_end[];
#define TW_STORE(constant) ((uint32_t)((const uint8_t *)(constant)-tw_store_start))

/* Starts to copy bytes of the store into the far memory (L2). Transfers are done in their order. */
void tw_store_read(void *far, uint32_t store, uint32_t bytes);
void tw_store_write(uint32_t store, const void *far, uint32_t bytes);

/* Returns when all of them are done. */
void tw_store_wait(void);

/* Once, before anything else. */
void tw_store_open(void);

/* Fills the store with an image that cores can read, by way of `size` bytes of far memory. */
void tw_store_fill(const void *image, uint32_t bytes, void *bounce, uint32_t size);

#endif
