#include <stdio.h>

#include "network.h"

static float x[ONE_X_ELEMENTS], y[ONE_Y_ELEMENTS];
static unsigned char arena[ONE_ARENA_BYTES] __attribute__((aligned(ONE_ARENA_ALIGNMENT)));

int main(void) {
  for (int call = 0; call < 3; call++) {
    const int code = one_run(x, y, arena);
    printf("call %d: %d, %s, %g us\n", call, code, code ? one_gpu_error() : "done", one_gpu_microseconds(10));
  }
  return 0;
}
