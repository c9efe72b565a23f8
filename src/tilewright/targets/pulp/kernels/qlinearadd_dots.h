#ifndef TW_QLINEARADD_DOTS_H
#define TW_QLINEARADD_DOTS_H

#include <stdint.h>

/* y = low + clip(((a * first + b * second) * mul + add) >> shift, 0 to top), of unsigned bytes: signed ones are flipped. */
typedef struct {
  int32_t count;
  uint32_t flip_a, flip_b; /* of four bytes */
  uint32_t factors;        /* first and second, unsigned bytes, in the lower half */
  int32_t mul;
  int32_t add;
  int32_t shift;
  int32_t top;
  int32_t low;
} tw_qlinearadd_dots_params;

#endif
