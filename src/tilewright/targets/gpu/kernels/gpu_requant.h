/* Requantisation of four sums side by side: the kind of rounding is asked once, and is a constant in what follows. */
#ifndef TW_GPU_REQUANT_H
#define TW_GPU_REQUANT_H

#include "gpu_unroll.h"
#include "requant.h"

#define TW_REQUANTISE_FOUR(KIND)                                                                     \
  case KIND: {                                                                                       \
    known.rounding = KIND;                                                                           \
    TW_UNROLL for (int32_t i = 0; i < 4; i++) sums[i] = tw_requantise(&known, sums[i], mul[i], add[i]); \
  } break;

TW_GPU void tw_requantise_four(const tw_requant *r, int32_t *sums, const int32_t *mul, const int32_t *add) {
  tw_requant known = *r;
  if (TW_IS_TFLITE(r)) {
    switch (r->rounding) {
      TW_REQUANTISE_FOUR(TW_DOUBLE)
      TW_REQUANTISE_FOUR(TW_DOUBLE_UP)
      TW_REQUANTISE_FOUR(TW_SINGLE)
      TW_REQUANTISE_FOUR(TW_FLOAT)
    }
    return;
  }
  switch (r->rounding) {
    TW_REQUANTISE_FOUR(TW_HALF_EVEN)
    TW_REQUANTISE_FOUR(TW_HALF_AWAY)
    default: TW_UNROLL for (int32_t i = 0; i < 4; i++) {
        known.rounding = TW_HALF_UP;
        sums[i] = tw_requantise(&known, sums[i], mul[i], add[i]);
      }
  }
}

#endif
