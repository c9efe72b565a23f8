/* What differs between the machines that these programs run on: transfers, in tiles and their like. */
#ifndef MACHINE_H
#define MACHINE_H
#include <stdint.h>

#define GIVEN __attribute__((section(".data"))) /* by the test, before the program runs */

static inline uint32_t now(void) {
  uint32_t value;
  __asm__ volatile("csrr %0, mcycle" : "=r"(value));
  return value;
}

#ifdef SNITCH
static inline uint32_t copy(uint32_t from, uint32_t to, uint32_t bytes) {
  uint32_t id;
  __asm__ volatile(".insn r 0x2b, 0, 0, x0, %0, x0\n .insn r 0x2b, 0, 1, x0, %1, x0" : : "r"(from), "r"(to) : "memory");
  __asm__ volatile(".insn r 0x2b, 0, 2, %0, %1, x0" : "=r"(id) : "r"(bytes) : "memory");
  return id;
}
static inline uint32_t transfer_in(uint32_t memory, uint32_t outside, uint32_t bytes) { return copy(outside, memory, bytes); }
static inline uint32_t transfer_out(uint32_t memory, uint32_t outside, uint32_t bytes) { return copy(memory, outside, bytes); }
static inline int is_over(uint32_t id) {
  uint32_t completed;
  __asm__ volatile(".insn r 0x2b, 0, 4, %0, x0, x0" : "=r"(completed) : : "memory");
  return (int32_t)(completed - id) >= 0;
}
#else
#define DMA (*(volatile uint32_t *)0x30001000u)
#define DMA_STATUS (*(volatile uint32_t *)0x30001004u)
static inline uint32_t transfer(uint32_t memory, uint32_t outside, uint32_t command) {
  const uint32_t id = DMA;
  DMA = command;
  DMA = memory;
  DMA = outside;
  return id;
}
static inline uint32_t transfer_in(uint32_t memory, uint32_t outside, uint32_t bytes) { return transfer(memory, outside, bytes | 3u << 17); }
static inline uint32_t transfer_out(uint32_t memory, uint32_t outside, uint32_t bytes) { return transfer(memory, outside, bytes | 2u << 17); }
static inline int is_over(uint32_t id) {
  if (DMA_STATUS >> id & 1) return 0;
  DMA_STATUS = 1u << id;
  return 1;
}
#endif
#endif
