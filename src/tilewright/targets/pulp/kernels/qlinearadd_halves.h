#ifndef TW_QLINEARADD_HALVES_H
#define TW_QLINEARADD_HALVES_H

#include "binary.h"

/* a * mul_a + b * mul_b + offset is upper * 2^16 + lower, where upper = a * upper_a + b * upper_b + upper_offset, and
 * lower likewise; both fit 32 bits. The offset contains half and the zero point. */
typedef struct {
  tw_binary_params loops;
  int32_t upper_a, upper_b, upper_offset;
  int32_t lower_a, lower_b, lower_offset;
  int32_t shift; /* of the upper sum, at least 1 */
  int32_t mask;  /* the bits below it */
  int32_t odd;   /* the zero point's lowest bit if ties go to the even neighbour; else 2 */
} tw_qlinearadd_halves_params;

#endif
