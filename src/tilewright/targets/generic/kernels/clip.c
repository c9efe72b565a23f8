/* y = min(max(x, low), high); NaN stays NaN */
#include "alone.h"
#include "clip.h"
#include "tw.h"

void TW_NAME(const tw_clip_params *params, const TW_X *x, TW_Y *y) {
  const int32_t count = params->count;
#if TW_X_IS_FLOAT
  const float low = params->low, high = params->high;
#else
  const TW_X low = (TW_X)params->int_low, high = (TW_X)params->int_high;
#endif
  TW_INDEPENDENT
  for (int32_t i = 0; i < count; i++) {
    const TW_X raised = x[i] < low ? low : x[i];
    y[i] = raised > high ? high : raised;
  }
}
