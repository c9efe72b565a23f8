/* y = out(first(a) + second(b)), each of the three a requantisation; broadcast */
#include "requantizedadd.h"

#ifndef TW_NAME
#define TW_NAME tw_requantizedadd_mve
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "binary_mve.h"

typedef struct {
  tw_vector_limits limits;
  int32x4_t mul, add;
} scaling;

typedef struct {
  scaling first, second, out;
} constants;

TW_ALWAYS scaling scaling_of(const tw_scaling *s) {
  const scaling made = {tw_vector_limits_of(&s->requant), vdupq_n_s32(s->mul), vdupq_n_s32(s->add)};
  return made;
}

TW_ALWAYS constants prepare(const tw_requantizedadd_params *p) {
  const constants made = {scaling_of(&p->first), scaling_of(&p->second), scaling_of(&p->out)};
  return made;
}

TW_ALWAYS int32x4_t scaled(const scaling *s, int32x4_t x) {
  return tw_vector_requantise(TW_ANY_WAY, &s->limits, x, s->mul, s->add);
}

TW_ALWAYS int32x4_t add(const constants *k, int32x4_t a, int32x4_t b) {
  return scaled(&k->out, vaddq_s32(scaled(&k->first, a), scaled(&k->second, b)));
}

TW_BINARY_MVE(tw_requantizedadd_params, constants, prepare, add)
