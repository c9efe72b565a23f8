/* y = out(first(a) + second(b)), each of the three a requantisation; broadcast */
#ifndef TW_NAME
#define TW_NAME tw_gpu_requantizedadd
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "gpu_each.h"
#include "int32.h"
#include "requantizedadd.h"

static inline TW_Y add(const tw_requantizedadd_params *p, TW_A a, TW_B b) {
  return (TW_Y)tw_scale(&p->out, tw_add32(tw_scale(&p->first, a), tw_scale(&p->second, b)));
}

TW_QLINEAR_BINARY(tw_requantizedadd_params, add)
