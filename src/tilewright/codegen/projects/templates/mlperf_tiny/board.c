/* Functions of the board. Microseconds come from the cycle counter of a Cortex-M with a trace unit. The serial port and the pin
 * do nothing here: write functions of the same names for your board, which replace these weak ones. */
#include "board.h"

#include <stdint.h>

#include "model.h"

#define WEAK __attribute__((weak))
#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#if defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__) || defined(__ARM_ARCH_8M_MAIN__) || \
    defined(__ARM_ARCH_8_1M_MAIN__)

static uint32_t last;
static uint64_t cycles;

WEAK void board_initialise(void) {
  REGISTER(0xe000edfc) |= 1u << 24;   /* DEMCR: trace on */
  REGISTER(0xe0001fb0) = 0xc5acce55u; /* DWT_LAR: some cores lock it */
  REGISTER(0xe0001000) |= 1u;         /* DWT_CTRL: count */
  last = REGISTER(0xe0001004);
}

/* The counter wraps around after 2^32 cycles: call this more often than that. */
WEAK unsigned long board_microseconds(void) {
  const uint32_t now = REGISTER(0xe0001004);
  cycles += (uint32_t)(now - last);
  last = now;
  return (unsigned long)(cycles / (uint32_t)APP_BOARD_MHZ);
}

#else

WEAK void board_initialise(void) {}
WEAK unsigned long board_microseconds(void) { return 0; }

#endif

WEAK void board_write(char c) { (void)c; }
WEAK char board_read(void) { return 0; }
WEAK void board_timestamp_pin(int level) { (void)level; }
