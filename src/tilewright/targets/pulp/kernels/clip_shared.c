/* y = min(max(x, low), high); NaN stays NaN; all cores together */
#include "alone.h"
#include "clip.h"
#include "four_elements.h"
#include "share_of_run.h"

static inline TW_Y clip(TW_X x, TW_X low, TW_X high) {
  const TW_X raised = x < low ? low : x;
  return raised > high ? high : raised;
}

void TW_NAME(const tw_clip_params *params, const TW_X *x, TW_Y *y) {
  const tw_share share = tw_share_of_run(params->count, sizeof(TW_Y));
#if TW_X_IS_FLOAT
  const float low = params->low, high = params->high;
#else
  const TW_X low = (TW_X)params->int_low, high = (TW_X)params->int_high;
#endif
#define CLIP(x) clip(x, low, high)
  TW_FOUR_ELEMENTS(CLIP, x, y, share);
}
