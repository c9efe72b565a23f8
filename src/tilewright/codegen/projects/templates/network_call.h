/* The network with static buffers: write your data to @app@_input_0, ..., then call @app@_run(). */
#ifndef @prefix@_NETWORK_CALL_H
#define @prefix@_NETWORK_CALL_H

#include "network.h"

#define @prefix@_ALIGNED __attribute__((aligned(16)))
#define @prefix@_CLOCK_MHZ @clock@

@buffers@
static unsigned char @app@_arena[@macro@_ARENA_BYTES] @section@;

@scales@
/* Call this once, before the first run. */
static inline int @app@_prepare(void) { return @reset@; }

static inline int @app@_run(void) { return @network@_run(@arguments@); }

/* Expected values of the first elements of @app@_output_0, times @prefix@_SCALE, for inputs of zero. */
#define @prefix@_SHOWN @shown@
#define @prefix@_SCALE @scale@
static const long @app@_expected[] = {@expected@};

static inline long @app@_element(int i) { return @element@; }

/* 1 if the output has the values expected for inputs of zero; floats may differ in the last digit. */
static inline int @app@_agrees(void) {
  for (int i = 0; i < @prefix@_SHOWN; i++) {
    const long difference = @app@_element(i) - @app@_expected[i];
    if (difference < -(@prefix@_SCALE > 1) || difference > (@prefix@_SCALE > 1)) return 0;
  }
  return 1;
}

#endif
