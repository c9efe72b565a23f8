/* y = max(x, 0); NaN stays NaN; all cores together */
#include "alone.h"
#include "cluster.h"
#include "four_elements.h"
#include "unary.h"

static inline TW_Y relu(TW_X x) {
#if TW_X_IS_FLOAT
  return x < 0.0f ? 0.0f : x;
#else
  return x > 0 ? x : 0;
#endif
}

void TW_NAME(const tw_unary_params *params, const TW_X *x, TW_Y *y) {
  const tw_share share = tw_share_of(params->count);
  TW_FOUR_ELEMENTS(relu, x, y, share);
}
