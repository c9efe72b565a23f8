/* y = numerator * x / denominator, rounded */
#include "trueintegerdiv.h"

#include "rounded_division.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_trueintegerdiv_i32
#define TW_X int32_t
#endif

void TW_NAME(const tw_trueintegerdiv_params *params, const TW_X *x, int32_t *y) {
  const int32_t count = params->count;
  const int64_t denominator = params->denominator;
  const uint64_t numerator = (uint64_t)params->numerator;
  TW_INDEPENDENT
  for (int32_t i = 0; i < count; i++) y[i] = tw_divide_rounded((int64_t)(numerator * (uint64_t)x[i]), denominator);
}
