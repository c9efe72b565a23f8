/* y = min(max(x, low), high); NaN stays NaN; all cores together */
#include "alone.h"
#include "clip.h"
#include "cluster.h"

void TW_NAME(const tw_clip_params *params, const TW_X *x, TW_Y *y) {
  const tw_share share = tw_share_of(params->count);
#if TW_X_IS_FLOAT
  const float low = params->low, high = params->high;
#else
  const TW_X low = (TW_X)params->int_low, high = (TW_X)params->int_high;
#endif
  for (int32_t i = share.first; i < share.end; i++) {
    const TW_X raised = x[i] < low ? low : x[i];
    y[i] = raised > high ? high : raised;
  }
}
