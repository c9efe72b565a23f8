/* The larger ones of signed bytes and 0, four at a time. */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_relu_max4
#endif

#define TW_X int8_t
#include "larger_bytes.h"

void TW_NAME(const tw_unary_params *params, const int8_t *x, int8_t *y) {
  int32_t left = params->count;
  if ((((uintptr_t)x | (uintptr_t)y) & 3) == 0) {
    for (; left >= 4; left -= 4, x += 4, y += 4) *(tw_word *)(void *)y = TW_LARGER4(*(const tw_word *)(const void *)x, 0);
  }
  for (; left > 0; left--, x++, y++) *y = *x > 0 ? *x : 0;
}
