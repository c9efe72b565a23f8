/* y = x * (clamp(x + three, 0, six) * one_over_six); all cores together */
#include "ihardswish.h"

#ifndef TW_NAME
#define TW_NAME tw_ihardswish_shared_i8
#define TW_X int8_t
#endif

#include "cluster.h"
#include "four_elements.h"
#include "int32.h"
#include "tw.h"

static inline int32_t hardswish(int32_t x, const tw_ihardswish_params *p) {
  const int32_t gate = tw_clamp(tw_add32(x, p->three), 0, p->six);
  return tw_mul32(x, tw_mul32(gate, p->one_over_six));
}

void TW_NAME(const tw_ihardswish_params *params, const TW_X *x, int32_t *y) {
  const tw_share share = tw_share_of(params->count);
  const tw_ihardswish_params p = *params;
#define HARDSWISH(x) hardswish(x, &p)
  TW_FOUR_ELEMENTS(HARDSWISH, x, y, share);
}
