/* Steps, updates and inference of a network that learns, as whoever watches the program asks for them: it puts a command
 * and inputs in place where tw_next() is called, and finds results where tw_step_done() is. */
#include <stdint.h>

#include "console.h"
#include "program_prepare.h"

enum { END, TRAIN, UPDATE, INFER };

volatile uint32_t tw_command;
volatile int32_t tw_status;
uint32_t tw_cycles;

__attribute__((noinline)) void tw_next(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void tw_step_done(void) { __asm__ volatile("" ::: "memory"); }

static int call(uint32_t command) {
  if (command == TRAIN) return program_train();
  return command == UPDATE ? TW_LEARNER_FUNCTION(update)() : program_infer();
}

int main(void) {
  program_prepare();
  tw_status = TW_LEARNER_FUNCTION(reset)();
  for (;;) {
    tw_next();
    if (tw_command == END) return 0;
    const uint32_t start = tw_cycle();
    tw_status = call(tw_command);
    tw_cycles = tw_cycle() - start;
    tw_step_done();
  }
}
