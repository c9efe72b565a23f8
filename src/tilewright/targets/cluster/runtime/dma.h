/* Transfers between L1 and the rest, by the cluster's DMA engine (MCHAN). Each core has its own port.
 *
 *   uint32_t id = tw_dma_begin();
 *   tw_dma_in(...); tw_dma_out_rows(...);     any number of them
 *   ...                                       the core computes meanwhile
 *   tw_dma_wait(id);
 */
#ifndef TW_DMA_H
#define TW_DMA_H

#include <stdint.h>

#define TW_DMA_NONE 0xffffffffu

/* Opens a group: transfers that this core starts from now on belong to it. */
uint32_t tw_dma_begin(void);

/* Waits for all transfers of the group and closes it. Returns at once for TW_DMA_NONE. */
void tw_dma_wait(uint32_t id);

/* One run of bytes. */
void tw_dma_in(void *l1, const void *l2, uint32_t bytes);
void tw_dma_out(void *l2, const void *l1, uint32_t bytes);

/* `rows` runs of `row` bytes: together in L1, `stride` bytes apart in the other memory. */
void tw_dma_in_rows(void *l1, const void *l2, uint32_t rows, uint32_t row, uint32_t stride);
void tw_dma_out_rows(void *l2, const void *l1, uint32_t rows, uint32_t row, uint32_t stride);

/* Rows with a stride in both memories: one transfer per row, or several for a row longer than the longest transfer. */
void tw_dma_in_strided(void *l1, uint32_t l1_stride, const void *l2, uint32_t l2_stride, uint32_t rows, uint32_t row);

#endif
