#include "l3_tiles.h"

#include "../kernels/platform.h"
#include "dma.h"
#include "events.h"
#include "limits.h"

/* Uses the second channel. The first is reserved for constants, so that neither waits for the other. */
#define REGISTER(offset) (*(volatile uint32_t *)(TW_UDMA + 0x300 + (offset)))
#define COMMAND REGISTER(0x18)
#define EXTERNAL REGISTER(0x1c)
#define STATUS REGISTER(0x24)
#define ROWS REGISTER(0x28)
#define ROW_BYTES REGISTER(0x2c)
#define ROW_STRIDE REGISTER(0x30)

#define START 0x10u
#define READ 4u
#define WRITE 0u

/* One transfer, in whole words of the memory. */
#define LONGEST (TW_L3_LONGEST_TRANSFER & ~15u)

#define MUTEX 0xc0
#define EVENT_MUTEX (1u << 17)

/* Transfers since the program began. */
static volatile uint32_t started;

/* A transfer takes several register writes, so a lock admits one core at a time. */
static void lock(void) {
  uint32_t ignored;
  tw_event_mask_set(EVENT_MUTEX);
  __asm__ volatile(TW_ELW : "=r"(ignored) : "r"(TW_EVENT_UNIT), "i"(MUTEX) : "memory");
  tw_event_mask_clear(EVENT_MUTEX);
}

static void unlock(void) {
  TW_COMPILER_BARRIER();
  TW_EVENT_REGISTER(MUTEX) = 0;
}

static uint32_t pending(void) {
  const uint32_t status = STATUS;
  return (status & 1u) + (status >> 1 & 0xffu);
}

/* A direction: base address of its registers, and its command. */
typedef struct {
  uint32_t channel, command;
} direction;

static uint32_t start(direction to, uint32_t l2, uint32_t l3, uint32_t rows, uint32_t row, uint32_t stride) {
  lock();
  while (pending() >= TW_L3_QUEUE) {
  }
  COMMAND = to.command;
  EXTERNAL = l3;
  ROWS = rows > 1;
  ROW_BYTES = row;
  ROW_STRIDE = stride;
  REGISTER(to.channel + 4) = rows * row;
  REGISTER(to.channel) = l2;
  REGISTER(to.channel + 8) = START;
  /* Counted after the start: a waiter may see too many pending transfers, never too few. */
  const uint32_t mark = started + 1;
  started = mark;
  unlock();
  return mark;
}

/* Splits a row that is longer than the longest transfer. */
static uint32_t start_row(direction to, uint32_t l2, uint32_t l3, uint32_t bytes) {
  for (; bytes > LONGEST; bytes -= LONGEST, l2 += LONGEST, l3 += LONGEST) start(to, l2, l3, 1, LONGEST, 0);
  return start(to, l2, l3, 1, bytes, 0);
}

/* Splits into as many transfers as needed. They complete in order, so waiting for the last is enough. */
static uint32_t start_all(direction to, uint32_t l2, uint32_t l3, uint32_t rows, uint32_t row, uint32_t stride) {
  const uint32_t most = rows * row > LONGEST ? LONGEST / row : rows;
  uint32_t mark = started;
  while (rows > 0) {
    const uint32_t part = most == 0 ? 1 : rows < most ? rows : most;
    mark = most == 0 ? start_row(to, l2, l3, row) : start(to, l2, l3, part, row, stride);
    l2 += part * row;
    l3 += part * stride;
    rows -= part;
  }
  return mark;
}

uint32_t tw_l3_load(void *l2, uint32_t l3, uint32_t rows, uint32_t row, uint32_t stride) {
  return start_all((direction){0x00, READ}, (uint32_t)(uintptr_t)l2, l3, rows, row, stride);
}

uint32_t tw_l3_store(uint32_t l3, const void *l2, uint32_t rows, uint32_t row, uint32_t stride) {
  return start_all((direction){0x0c, WRITE}, (uint32_t)(uintptr_t)l2, l3, rows, row, stride);
}

void tw_l3_put(void *l2, const void *l1, uint32_t bytes) {
  const uint32_t id = tw_dma_begin();
  tw_dma_out(l2, l1, bytes);
  tw_dma_wait(id);
}

void tw_l3_wait(uint32_t mark) {
  for (;;) {
    const uint32_t known = started;
    if ((int32_t)(known - pending() - mark) >= 0) break;
  }
  TW_COMPILER_BARRIER();
}
