/* Parameters of depthwise convolutions on vectors, and how their totals become results. Needs TW_X and TW_Y. */
#ifndef TW_DEPTHWISE_LAYER_MVE_H
#define TW_DEPTHWISE_LAYER_MVE_H

#include "conv_mve.h"
#include "vectors_mve.h"

#define TW_LANES 4

/* What is the same for all pixels. */
typedef struct {
  const tw_conv_params *p;
  const int8_t *w;
  const int32_t *b, *mul, *add;
  int32_t taps, pairs;         /* of a window; pairs of them */
  int32_t channels;
  int32_t *inside, *border;    /* where taps are as seen from the first; at a border */
  const TW_X *zeros;           /* as many as there are channels */
  int32_t last_top, last_left; /* of windows inside the image */
} layer;

/* Where the taps of a pixel are, as seen from `x`. */
typedef struct {
  const TW_X *x;
  const int32_t *offset;
} window;

TW_ALWAYS void scale(const tw_requant *r, tw_vector_way way, int32x4_t *t, const int32_t *mul, const int32_t *add) {
  const tw_vector_limits limits = tw_vector_limits_of(r);
  *t = tw_vector_requantise(way, &limits, *t, vldrwq_s32(mul), tw_vector_summands(way, r, add));
}

/* Totals of the channels from `at` on. */
TW_ALWAYS void scale_all(const layer *k, tw_vector_way way, int32x4_t *t, int32_t vectors, int32_t at) {
  if (sizeof(TW_Y) == 4) return;
  const tw_requant *const r = &k->p->requant;
  const int32_t *const mul = k->mul + at, *const add = k->add ? k->add + at : NULL;
  if (way == TW_ANY_WAY) {
    for (int32_t i = 0; i < vectors; i++) scale(r, way, &t[i], mul + TW_LANES * i, add ? add + TW_LANES * i : NULL);
    return;
  }
  scale(r, way, &t[0], mul, add);
  scale(r, way, &t[1], mul + TW_LANES, add + TW_LANES);
  if (vectors == 2) return;
  scale(r, way, &t[2], mul + 2 * TW_LANES, add + 2 * TW_LANES);
  scale(r, way, &t[3], mul + 3 * TW_LANES, add + 3 * TW_LANES);
}

/* Results that are wider than elements are brought into order in memory. */
static __attribute__((unused)) void store_wide(TW_Y *y, const int32x4_t *t, int32_t vectors, int32_t count) {
  int32_t values[16];
  for (int32_t i = 0; i < vectors; i++) vstrwq_s32(values + TW_LANES * i, t[i]);
  for (int32_t c = 0; c < count; c++) y[c] = (TW_Y)values[c % vectors * TW_LANES + c / vectors];
}

#endif
