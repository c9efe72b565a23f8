/* y = x, in other bytes */
#include "alone.h"
#include "bytes.h"
#include "unary.h"

void TW_NAME(const tw_unary_params *params, const TW_X *x, TW_Y *y) {
  memcpy(y, x, (size_t)params->count * sizeof *y);
}
