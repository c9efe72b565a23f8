/* y = max(x, 0); NaN stays NaN; all cores together */
#include "alone.h"
#include "four_elements.h"
#include "share_of_run.h"
#include "unary.h"

static inline TW_Y relu(TW_X x) {
#if TW_X_IS_FLOAT
  return x < 0.0f ? 0.0f : x;
#else
  return x > 0 ? x : 0;
#endif
}

void TW_NAME(const tw_unary_params *params, const TW_X *x, TW_Y *y) {
  const tw_share share = tw_share_of_run(params->count, sizeof(TW_Y));
  TW_FOUR_ELEMENTS(relu, x, y, share);
}
