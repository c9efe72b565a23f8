/* y = x, in other bytes */
#include <string.h>

#include "tw.h"
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_identity_f32
#define TW_X float
#define TW_Y float
#endif

void TW_NAME(const tw_unary_params *params, const TW_X *x, TW_Y *y) {
  memcpy(y, x, (size_t)params->count * sizeof *y);
}
