/* Convolution of bytes in which each filter sees one channel, channels last: 16 channels of a pixel at a time, with
 * weights as [16 channels][tap][16]. Products of two taps fit 16 bits together: their sum is added to 32 bits.
 *
 * Taps outside the image find a row of what stands for zero. Bias, factors and exponents are in the order in which the
 * instructions leave totals: channels 0 4 8 12, 1 5 9 13 and so on; 0 2 4 6, 1 3 5 7 where 8 channels or fewer are
 * left. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_mve
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include <string.h>

#include "conv_mve.h"
#include "vectors_mve.h"

#define TW_HALF (TW_VECTOR / 2)
#define TW_LANES 4

/* What is the same for all pixels. */
typedef struct {
  const tw_conv_params *p;
  const int8_t *w;
  const int32_t *b, *mul, *add;
  int32_t taps, channels;
  tw_vector_way way;
} layer;

/* Where the taps of a pixel are, as seen from `x`. */
typedef struct {
  const TW_X *x;
  const int32_t *offset;
} window;

/* Adds eight sums of 16 bits. */
TW_ALWAYS void widen(int32x4_t *even, int32x4_t *odd, int16x8_t sum) {
  *even = vaddq_s32(*even, vmovlbq_s16(sum));
  *odd = vaddq_s32(*odd, vmovltq_s16(sum));
}

TW_ALWAYS int8x16_t load(const TW_X *x, mve_pred16_t some, int is_whole) {
  return is_whole ? tw_load(x) : tw_load_some(x, some);
}

TW_ALWAYS void sixteen_totals(const layer *k, window at, const int8_t *w, mve_pred16_t some, int is_whole,
                              int32x4_t t[4]) {
  const int32_t *offset = at.offset;
  for (int32_t i = k->taps >> 1; i > 0; i--, w += 2 * TW_VECTOR, offset += 2) {
    const int8x16_t x0 = load(at.x + offset[0], some, is_whole), x1 = load(at.x + offset[1], some, is_whole);
    const int8x16_t w0 = vldrbq_s8(w), w1 = vldrbq_s8(w + TW_VECTOR);
    widen(&t[0], &t[2], vaddq_s16(vmullbq_int_s8(x0, w0), vmullbq_int_s8(x1, w1)));
    widen(&t[1], &t[3], vaddq_s16(vmulltq_int_s8(x0, w0), vmulltq_int_s8(x1, w1)));
  }
  if (k->taps & 1) {
    const int8x16_t x0 = load(at.x + offset[0], some, is_whole), w0 = vldrbq_s8(w);
    widen(&t[0], &t[2], vmullbq_int_s8(x0, w0));
    widen(&t[1], &t[3], vmulltq_int_s8(x0, w0));
  }
}

/* Eight bytes as 16 bits. */
TW_ALWAYS int16x8_t load_half(const TW_X *x, mve_pred16_t some) {
  if (!TW_X_FLIP) return vldrbq_z_s16((const int8_t *)x, some);
  return vsubq_n_s16(vreinterpretq_s16_u16(vldrbq_z_u16((const uint8_t *)x, some)), TW_X_FLIP);
}

TW_ALWAYS void eight_totals(const layer *k, window at, const int8_t *w, mve_pred16_t some, int32x4_t t[2]) {
  const int32_t *offset = at.offset;
  for (int32_t i = k->taps >> 1; i > 0; i--, w += 2 * TW_VECTOR, offset += 2) {
    const int16x8_t first = vmulq_s16(load_half(at.x + offset[0], some), vldrbq_s16(w));
    widen(&t[0], &t[1], vaddq_s16(first, vmulq_s16(load_half(at.x + offset[1], some), vldrbq_s16(w + TW_VECTOR))));
  }
  if (k->taps & 1) widen(&t[0], &t[1], vmulq_s16(load_half(at.x + offset[0], some), vldrbq_s16(w)));
}

TW_ALWAYS int32x4_t scaled(const layer *k, tw_vector_way way, int32x4_t total, int32_t at) {
  if (sizeof(TW_Y) == 4) return total;
  const tw_vector_scaling scaling = tw_vector_scaling_of(way, &k->p->requant, k->mul + at, k->add ? k->add + at : NULL);
  return tw_vector_requantise(way, &scaling, total);
}

/* Results of more than 8 bits are brought into order in memory. */
static void store_wide(TW_Y *y, const int32x4_t *t, int32_t vectors, int32_t count) {
  int32_t values[TW_VECTOR];
  for (int32_t i = 0; i < vectors; i++) vstrwq_s32(values + TW_LANES * i, t[i]);
  for (int32_t c = 0; c < count; c++) y[c] = (TW_Y)values[c % vectors * TW_LANES + c / vectors];
}

TW_ALWAYS void sixteen(const layer *k, tw_vector_way way, window at, const int8_t *w, int32_t c, TW_Y *y, int is_whole) {
  const int32_t left = k->channels - c;
  const mve_pred16_t some = vctp8q((uint32_t)left);
  const int32_t *const b = k->b + c;
  int32x4_t t[4] = {vldrwq_s32(b), vldrwq_s32(b + 4), vldrwq_s32(b + 8), vldrwq_s32(b + 12)};
  sixteen_totals(k, at, w, some, is_whole, t);
  for (int32_t i = 0; i < 4; i++) t[i] = scaled(k, way, t[i], c + TW_LANES * i);
  if (sizeof(TW_Y) > 1) {
    store_wide(y, t, 4, tw_min(left, TW_VECTOR));
    return;
  }
  const int32x4_t low = vsliq_n_s32(t[0], t[1], 8), high = vsliq_n_s32(t[2], t[3], 8);
  const int8x16_t all = vreinterpretq_s8_s32(vsliq_n_s32(low, high, 16));
  if (is_whole) {
    vstrbq_s8((int8_t *)y, all);
  } else {
    vstrbq_p_s8((int8_t *)y, all, some);
  }
}

TW_ALWAYS void eight(const layer *k, tw_vector_way way, window at, const int8_t *w, int32_t c, TW_Y *y) {
  const int32_t left = k->channels - c;
  const mve_pred16_t some = vctp16q((uint32_t)left);
  int32x4_t t[2] = {vldrwq_s32(k->b + c), vldrwq_s32(k->b + c + TW_LANES)};
  eight_totals(k, at, w, some, t);
  for (int32_t i = 0; i < 2; i++) t[i] = scaled(k, way, t[i], c + TW_LANES * i);
  if (sizeof(TW_Y) > 1) {
    store_wide(y, t, 2, left);
  } else {
    vstrbq_p_s16((int8_t *)y, vreinterpretq_s16_s32(vsliq_n_s32(t[0], t[1], 16)), some);
  }
}

/* All channels of a pixel. */
TW_ALWAYS void one_pixel(const layer *k, tw_vector_way way, window at, TW_Y *y) {
  const int32_t size = k->taps * TW_VECTOR;
  const int8_t *w = k->w;
  int32_t c = 0;
  for (; c + TW_VECTOR <= k->channels; c += TW_VECTOR, w += size, at.x += TW_VECTOR) {
    sixteen(k, way, at, w, c, y + c, 1);
  }
  if (k->channels - c > TW_HALF) {
    sixteen(k, TW_ANY_WAY, at, w, c, y + c, 0);
  } else if (c < k->channels) {
    eight(k, way, at, w, c, y + c);
  }
}

static void pixel(const layer *k, const TW_X *x, const int32_t *offset, TW_Y *y) {
  const window at = {x, offset};
  if (k->way == TW_SHORT_WAY) {
    one_pixel(k, TW_SHORT_WAY, at, y);
  } else {
    one_pixel(k, TW_ANY_WAY, at, y);
  }
}

/* Of a window at the border: as seen from `x`, some of it in the row that stands for what is outside. */
static void border_offsets(const tw_conv_params *p, const TW_X *x, int32_t top, int32_t left, const TW_X *zeros,
                           const int32_t *inside, int32_t *offset) {
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t row = top + r * p->dilation_h;
    for (int32_t s = 0; s < p->kernel_w; s++, offset++, inside++) {
      const int32_t column = left + s * p->dilation_w;
      const int is_inside = row >= 0 && row < p->in_h && column >= 0 && column < p->in_w;
      *offset = is_inside ? *inside : (int32_t)((intptr_t)zeros - (intptr_t)x);
    }
  }
}

void TW_NAME(const tw_conv_mve_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t taps = p->kernel_h * p->kernel_w, channels = p->groups;
  const layer k = {p, w, b, mul, add, taps, channels, (tw_vector_way)params->way};
  int32_t *const inside = scratch, *const border = inside + taps;
  TW_X *const zeros = (TW_X *)(border + taps);
  const int32_t reach_h = (p->kernel_h - 1) * p->dilation_h, reach_w = (p->kernel_w - 1) * p->dilation_w;
  memset(zeros, p->x_zero, (size_t)channels);
  for (int32_t i = 0; i < taps; i++) {
    inside[i] = (i / p->kernel_w * p->dilation_h * p->in_w + i % p->kernel_w * p->dilation_w) * channels;
  }
  for (int32_t image = 0; image < p->batch; image++, x += p->in_h * p->in_w * channels) {
    for (int32_t out_y = 0; out_y < p->out_h; out_y++) {
      const int32_t top = out_y * p->stride_h - p->pad_top;
      const int rows_inside = top >= 0 && top + reach_h < p->in_h;
      for (int32_t out_x = 0; out_x < p->out_w; out_x++, y += channels) {
        const int32_t left = out_x * p->stride_w - p->pad_left;
        const TW_X *const at = x + (top * p->in_w + left) * channels;
        const int is_inside = rows_inside && left >= 0 && left + reach_w < p->in_w;
        if (!is_inside) border_offsets(p, at, top, left, zeros, inside, border);
        pixel(&k, at, is_inside ? inside : border, y);
      }
    }
  }
}
