#include "l3_tiles.h"

#include "dma.h"
#include "events.h"
#include "limits.h"

/* The second channel: constants of L3 have the first one for themselves, so that nobody waits for the other's. */
#define REGISTER(offset) (*(volatile uint32_t *)(0x1a102000u + 0x300u + (offset)))
#define COMMAND REGISTER(0x18)
#define EXTERNAL REGISTER(0x1c)
#define STATUS REGISTER(0x24)
#define ROWS REGISTER(0x28)
#define ROW_BYTES REGISTER(0x2c)
#define ROW_STRIDE REGISTER(0x30)

#define START 0x10u
#define READ 4u
#define WRITE 0u

#define MUTEX 0xc0
#define EVENT_MUTEX (1u << 17)

/* Transfers since the program began. */
static volatile uint32_t started;

/* A transfer is described by several registers: only one core may write them at a time. */
static void lock(void) {
  uint32_t ignored;
  tw_event_mask_set(EVENT_MUTEX);
  __asm__ volatile(TW_ELW : "=r"(ignored) : "r"(TW_EVENT_UNIT), "i"(MUTEX) : "memory");
  tw_event_mask_clear(EVENT_MUTEX);
}

static void unlock(void) { TW_EVENT_REGISTER(MUTEX) = 0; }

static uint32_t pending(void) {
  const uint32_t status = STATUS;
  return (status & 1u) + (status >> 1 & 0xffu);
}

/* `channel` is where the registers of a direction begin. */
static uint32_t start(uint32_t channel, uint32_t command, uint32_t l2, uint32_t l3, uint32_t rows, uint32_t row, uint32_t stride) {
  lock();
  while (pending() >= TW_L3_QUEUE) {
  }
  COMMAND = command;
  EXTERNAL = l3;
  ROWS = rows > 1;
  ROW_BYTES = row;
  ROW_STRIDE = stride;
  REGISTER(channel + 4) = rows * row;
  REGISTER(channel) = l2;
  REGISTER(channel + 8) = START;
  /* After the start: whoever waits may believe too many to be pending, never too few. */
  const uint32_t mark = started + 1;
  started = mark;
  unlock();
  return mark;
}

uint32_t tw_l3_load(void *l2, uint32_t l3, uint32_t rows, uint32_t row, uint32_t stride) {
  return start(0x00, READ, (uint32_t)(uintptr_t)l2, l3, rows, row, stride);
}

uint32_t tw_l3_store(uint32_t l3, const void *l2, uint32_t rows, uint32_t row, uint32_t stride) {
  return start(0x0c, WRITE, (uint32_t)(uintptr_t)l2, l3, rows, row, stride);
}

void tw_l3_put(void *l2, const void *l1, uint32_t bytes) {
  const uint32_t id = tw_dma_begin();
  tw_dma_out(l2, l1, bytes);
  tw_dma_wait(id);
}

void tw_l3_wait(uint32_t mark) {
  for (;;) {
    const uint32_t known = started;
    if ((int32_t)(known - pending() - mark) >= 0) return;
  }
}
