/* One call of the network with buffers of its own: put your data into app_input_0, ..., then call app_run(). */
#ifndef APP_NETWORK_CALL_H
#define APP_NETWORK_CALL_H

#include "network.h"

#define APP_ALIGNED __attribute__((aligned(16)))
#define APP_CLOCK_MHZ @clock@

@buffers@
static unsigned char app_arena[@macro@_ARENA_BYTES] @section@;

/* Once, before the first call. */
static inline int app_prepare(void) { return @reset@; }

static inline int app_run(void) { return @network@_run(@arguments@); }

/* The first elements of app_output_0 times APP_SCALE, and what they are where all inputs are zero. */
#define APP_SHOWN @shown@
#define APP_SCALE @scale@
static const long app_expected[] = {@expected@};

static inline long app_element(int i) { return @element@; }

/* Whether they are what was expected of inputs of zero; floats may differ in the last digit. */
static inline int app_agrees(void) {
  for (int i = 0; i < APP_SHOWN; i++) {
    const long difference = app_element(i) - app_expected[i];
    if (difference < -(APP_SCALE > 1) || difference > (APP_SCALE > 1)) return 0;
  }
  return 1;
}

#endif
