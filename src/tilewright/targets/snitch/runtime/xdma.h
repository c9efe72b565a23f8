/* Instructions of the DMA engine, which only the DMA core has. Transfers complete in the order in which they are started. */
#ifndef TW_XDMA_H
#define TW_XDMA_H

#include <stdint.h>

static inline void tw_xdma_from(uint32_t address) {
  __asm__ volatile(".insn r 0x2b, 0, 0, x0, %0, x0" : : "r"(address) : "memory");
}

static inline void tw_xdma_to(uint32_t address) {
  __asm__ volatile(".insn r 0x2b, 0, 1, x0, %0, x0" : : "r"(address) : "memory");
}

static inline void tw_xdma_rows(uint32_t count, uint32_t from_stride, uint32_t to_stride) {
  __asm__ volatile(".insn r 0x2b, 0, 6, x0, %0, %1" : : "r"(from_stride), "r"(to_stride) : "memory");
  __asm__ volatile(".insn r 0x2b, 0, 7, x0, %0, x0" : : "r"(count) : "memory");
}

/* Both return the transfer's number, one more than the previous transfer's. */
static inline uint32_t tw_xdma_start(uint32_t bytes) {
  uint32_t number;
  __asm__ volatile(".insn r 0x2b, 0, 2, %0, %1, x0" : "=r"(number) : "r"(bytes) : "memory");
  return number;
}

static inline uint32_t tw_xdma_start_rows(uint32_t row) {
  uint32_t number;
  __asm__ volatile(".insn r 0x2b, 0, 2, %0, %1, x2" : "=r"(number) : "r"(row) : "memory");
  return number;
}

/* The number of the last transfer that is done. */
static inline uint32_t tw_xdma_done(void) {
  uint32_t number;
  __asm__ volatile(".insn r 0x2b, 0, 4, %0, x0, x0" : "=r"(number) : : "memory");
  return number;
}

/* Whether all transfers of a group (dma.h) are done. */
int tw_dma_is_done(uint32_t group);

#endif
