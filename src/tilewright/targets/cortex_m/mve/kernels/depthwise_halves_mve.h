/* Elements of 16 bits: eight channels of a pixel at a time. Totals come as channels 0 2 4 6, 1 3 5 7. */
#ifndef TW_DEPTHWISE_HALVES_MVE_H
#define TW_DEPTHWISE_HALVES_MVE_H

#include "depthwise_layer_mve.h"

TW_ALWAYS void eight_totals(const layer *k, window at, const int8_t *w, mve_pred16_t some, int is_whole,
                            int32x4_t t[2]) {
  const int32_t *offset = at.offset;
  for (int32_t i = k->taps; i > 0; i--, w += TW_VECTOR, offset++) {
    const TW_X *const from = at.x + *offset;
    const int16x8_t x = is_whole ? tw_load(from) : tw_load_some(from, some), own = tw_weights(w);
    t[0] = vaddq_s32(t[0], vmullbq_int_s16(x, own));
    t[1] = vaddq_s32(t[1], vmulltq_int_s16(x, own));
  }
}

TW_ALWAYS void eight(const layer *k, tw_vector_way way, window at, const int8_t *w, int32_t c, TW_Y *y, int is_whole) {
  const mve_pred16_t some = tw_first(k->channels - c);
  int32x4_t t[2] = {vldrwq_s32(k->b + c), vldrwq_s32(k->b + c + TW_LANES)};
  eight_totals(k, at, w, some, is_whole, t);
  scale_all(k, way, t, 2, c);
  const int16x8_t all = vreinterpretq_s16_s32(vsliq_n_s32(t[0], t[1], 16));
  if (sizeof(TW_Y) == 4) {
    store_wide(y, t, 2, tw_min(k->channels - c, TW_VECTOR));
  } else if (sizeof(TW_Y) == 1) {
    vstrbq_p_s16((int8_t *)y, all, some);
  } else if (is_whole) {
    vstrhq_s16((int16_t *)y, all);
  } else {
    vstrhq_p_s16((int16_t *)y, all, some);
  }
}

/* Channels behind the last whole vector. */
TW_APART void last_channels(const layer *k, window at, const int8_t *w, int32_t c, TW_Y *y) {
  eight(k, TW_ANY_WAY, at, w, c, y, 0);
}

/* All channels of a pixel. */
TW_ALWAYS void one_pixel(const layer *k, tw_vector_way way, window at, TW_Y *y) {
  const int32_t size = k->taps * TW_VECTOR, channels = k->channels;
  const int8_t *w = k->w;
  int32_t c = 0;
  for (; c + TW_VECTOR <= channels; c += TW_VECTOR, w += size, at.x += TW_VECTOR) eight(k, way, at, w, c, y + c, 1);
  if (c < channels) last_channels(k, at, w, c, y + c);
}

#endif
