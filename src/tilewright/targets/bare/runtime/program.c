/* Runs the network on the inputs stored in the program, and prints the cycles and output checksums of the last call. */
#include <stdint.h>

#include "console.h"
#include "program_call.h"

static void print_number(uint32_t value, uint32_t base) {
  char digits[12];
  int at = 11;
  digits[at] = 0;
  do {
    digits[--at] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value > 0);
  tw_print(digits + at);
}

static uint32_t checksum(const uint8_t *data, uint32_t bytes) {
  uint32_t sum = 2166136261u;
  for (uint32_t i = 0; i < bytes; i++) sum = (sum ^ data[i]) * 16777619u;
  return sum;
}

int tw_status;
uint32_t tw_cycles;
volatile uint32_t tw_steps = 1;

/* Called after each run. With tw_steps > 1, a debugger stops here, reads the outputs and writes the next inputs. */
__attribute__((noinline)) void tw_step_done(void) { __asm__ volatile("" ::: "memory"); }

int main(void) {
  program_prepare();
  for (uint32_t step = 0; step < tw_steps && tw_status == 0; step++) {
    const uint32_t start = tw_cycle();
    tw_status = program_run();
    tw_cycles = tw_cycle() - start;
    tw_step_done();
  }
  tw_print("cycles ");
  print_number(tw_cycles, 10);
  tw_print("\n");
  for (int i = 0; i < PROGRAM_OUTPUTS; i++) {
    tw_print("output ");
    print_number((uint32_t)i, 10);
    tw_print(" fnv1a ");
    print_number(checksum(program_outputs[i], program_output_bytes[i]), 16);
    tw_print("\n");
  }
  return tw_status;
}
