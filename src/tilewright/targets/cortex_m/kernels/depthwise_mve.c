/* Convolution of bytes in which each filter sees one channel, channels last: 16 channels of a pixel at a time, with
 * weights as [16 channels][tap][16]. Products of two taps fit 16 bits together: their sum is added to 32 bits. Where
 * taps are odd, there is another of weight 0.
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
  int32_t pairs, channels;     /* pairs of taps */
  int32_t *inside, *border;    /* where taps are as seen from the first; at a border */
  const TW_X *zeros;           /* as many as there are channels */
  int32_t last_top, last_left; /* of windows inside the image */
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
  for (int32_t i = k->pairs; i > 0; i--, w += 2 * TW_VECTOR, offset += 2) {
    const int8x16_t x0 = load(at.x + offset[0], some, is_whole), x1 = load(at.x + offset[1], some, is_whole);
    const int8x16_t w0 = vldrbq_s8(w), w1 = vldrbq_s8(w + TW_VECTOR);
    widen(&t[0], &t[2], vaddq_s16(vmullbq_int_s8(x0, w0), vmullbq_int_s8(x1, w1)));
    widen(&t[1], &t[3], vaddq_s16(vmulltq_int_s8(x0, w0), vmulltq_int_s8(x1, w1)));
  }
}

/* The same for signed bytes of whole vectors, in the eight registers that there are: the second x is loaded twice.
 * Compilers run out of them. */
TW_ALWAYS void sixteen_signed(const layer *k, window at, const int8_t *w, int32x4_t t[4]) {
  const int32_t *offset = at.offset;
  int32_t first, second;
  int8x16_t a, b, c, d;
  __asm__ volatile(
      "dls lr, %[pairs]\n"
      "1:\n"
      "ldrd %[first], %[second], [%[offset]], #8\n"
      "add %[first], %[x]\n"
      "add %[second], %[x]\n"
      "vldrb.u8 %q[a], [%[first]]\n"
      "vldrb.u8 %q[b], [%[w]], #16\n"
      "vmullb.s8 %q[c], %q[a], %q[b]\n"
      "vmullt.s8 %q[a], %q[a], %q[b]\n"
      "vldrb.u8 %q[b], [%[second]]\n"
      "vldrb.u8 %q[d], [%[w]], #16\n"
      "vmullb.s8 %q[b], %q[b], %q[d]\n"
      "vadd.i16 %q[c], %q[c], %q[b]\n"
      "vldrb.u8 %q[b], [%[second]]\n"
      "vmullt.s8 %q[b], %q[b], %q[d]\n"
      "vadd.i16 %q[a], %q[a], %q[b]\n"
      "vmovlb.s16 %q[b], %q[c]\n"
      "vadd.i32 %q[t0], %q[t0], %q[b]\n"
      "vmovlt.s16 %q[c], %q[c]\n"
      "vadd.i32 %q[t2], %q[t2], %q[c]\n"
      "vmovlb.s16 %q[b], %q[a]\n"
      "vadd.i32 %q[t1], %q[t1], %q[b]\n"
      "vmovlt.s16 %q[a], %q[a]\n"
      "vadd.i32 %q[t3], %q[t3], %q[a]\n"
      "le lr, 1b\n"
      : [t0] "+w"(t[0]), [t1] "+w"(t[1]), [t2] "+w"(t[2]), [t3] "+w"(t[3]), [a] "=&w"(a), [b] "=&w"(b),
        [c] "=&w"(c), [d] "=&w"(d), [first] "=&r"(first), [second] "=&r"(second), [offset] "+r"(offset), [w] "+r"(w)
      : [x] "r"(at.x), [pairs] "r"(k->pairs)
      : "lr", "memory");
}

/* Eight bytes as 16 bits. */
TW_ALWAYS int16x8_t load_half(const TW_X *x, mve_pred16_t some, int is_whole) {
  if (!TW_X_FLIP) return is_whole ? vldrbq_s16((const int8_t *)x) : vldrbq_z_s16((const int8_t *)x, some);
  const uint16x8_t loaded = is_whole ? vldrbq_u16((const uint8_t *)x) : vldrbq_z_u16((const uint8_t *)x, some);
  return vsubq_n_s16(vreinterpretq_s16_u16(loaded), TW_X_FLIP);
}

TW_ALWAYS void eight_totals(const layer *k, window at, const int8_t *w, mve_pred16_t some, int is_whole,
                            int32x4_t t[2]) {
  const int32_t *offset = at.offset;
  for (int32_t i = k->pairs; i > 0; i--, w += 2 * TW_VECTOR, offset += 2) {
    const int16x8_t first = vmulq_s16(load_half(at.x + offset[0], some, is_whole), vldrbq_s16(w));
    const int16x8_t second = vmulq_s16(load_half(at.x + offset[1], some, is_whole), vldrbq_s16(w + TW_VECTOR));
    widen(&t[0], &t[1], vaddq_s16(first, second));
  }
}

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
  if (is_whole && !TW_X_FLIP) {
    sixteen_signed(k, at, w, t);
  } else {
    sixteen_totals(k, at, w, some, is_whole, t);
  }
  scale_all(k, way, t, 4, c);
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

TW_ALWAYS void eight(const layer *k, tw_vector_way way, window at, const int8_t *w, int32_t c, TW_Y *y, int is_whole) {
  const int32_t left = k->channels - c;
  const mve_pred16_t some = vctp16q((uint32_t)left);
  int32x4_t t[2] = {vldrwq_s32(k->b + c), vldrwq_s32(k->b + c + TW_LANES)};
  eight_totals(k, at, w, some, is_whole, t);
  scale_all(k, way, t, 2, c);
  if (sizeof(TW_Y) > 1) {
    store_wide(y, t, 2, left);
    return;
  }
  const int16x8_t all = vreinterpretq_s16_s32(vsliq_n_s32(t[0], t[1], 16));
  if (is_whole) {
    vstrbq_s16((int8_t *)y, all);
  } else {
    vstrbq_p_s16((int8_t *)y, all, some);
  }
}

/* All channels of a pixel. */
TW_ALWAYS void one_pixel(const layer *k, tw_vector_way way, window at, TW_Y *y) {
  const int32_t size = 2 * k->pairs * TW_VECTOR;
  const int8_t *w = k->w;
  int32_t c = 0;
  for (; c + TW_VECTOR <= k->channels; c += TW_VECTOR, w += size, at.x += TW_VECTOR) {
    sixteen(k, way, at, w, c, y + c, 1);
  }
  if (k->channels - c > TW_HALF) {
    sixteen(k, TW_ANY_WAY, at, w, c, y + c, 0);
  } else if (k->channels - c == TW_HALF) {
    eight(k, way, at, w, c, y + c, 1);
  } else if (c < k->channels) {
    eight(k, TW_ANY_WAY, at, w, c, y + c, 0);
  }
}

/* Of a window at the border: as seen from its first tap, some of it in the row that stands for what is outside. */
static void border_offsets(const tw_conv_params *p, int32_t top, int32_t left, int32_t outside, const int32_t *inside,
                           int32_t *offset) {
  const tw_range rows = tw_inside(top, p->dilation_h, p->in_h, p->kernel_h);
  const tw_range columns = tw_inside(left, p->dilation_w, p->in_w, p->kernel_w);
  int32_t *to = offset;
  for (int32_t i = (p->kernel_h * p->kernel_w + 1) / 2; i > 0; i--) *to++ = outside, *to++ = outside;
  for (int32_t r = rows.first; r < rows.end; r++) {
    const int32_t first = r * p->kernel_w;
    for (int32_t s = first + columns.first; s < first + columns.end; s++) offset[s] = inside[s];
  }
}

/* A row of results. `x` is where the first window begins, if only it were in the image. */
TW_ALWAYS void one_row(const layer *k, tw_vector_way way, const TW_X *x, int32_t top, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  const int32_t step = p->stride_w * k->channels;
  const int rows_inside = top >= 0 && top <= k->last_top;
  int32_t left = -p->pad_left;
  for (int32_t i = p->out_w; i > 0; i--, x += step, y += k->channels, left += p->stride_w) {
    window at = {x, k->inside};
    if (!rows_inside || left < 0 || left > k->last_left) {
      border_offsets(p, top, left, (int32_t)((intptr_t)k->zeros - (intptr_t)x), k->inside, k->border);
      at.offset = k->border;
    }
    one_pixel(k, way, at, y);
  }
}

void TW_NAME(const tw_conv_mve_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t taps = p->kernel_h * p->kernel_w, channels = p->groups, pairs = (taps + 1) / 2;
  int32_t *const inside = scratch, *const border = inside + 2 * pairs;
  TW_X *const zeros = (TW_X *)(border + 2 * pairs);
  const layer k = {p, w, b, mul, add, pairs, channels, inside, border, zeros,
                   p->in_h - 1 - (p->kernel_h - 1) * p->dilation_h, p->in_w - 1 - (p->kernel_w - 1) * p->dilation_w};
  const int32_t next_h = p->dilation_h * p->in_w * channels, next_w = p->dilation_w * channels;
  memset(zeros, p->x_zero, (size_t)channels);
  inside[2 * pairs - 1] = 0;
  for (int32_t i = 0; i < taps; i++) inside[i] = i / p->kernel_w * next_h + i % p->kernel_w * next_w;
  for (int32_t image = 0; image < p->batch; image++, x += p->in_h * p->in_w * channels) {
    int32_t top = -p->pad_top;
    for (int32_t i = p->out_h; i > 0; i--, top += p->stride_h, y += p->out_w * channels) {
      const TW_X *const from = x + (top * p->in_w - p->pad_left) * channels;
      if (params->way == TW_SHORT_WAY) {
        one_row(&k, TW_SHORT_WAY, from, top, y);
      } else {
        one_row(&k, TW_ANY_WAY, from, top, y);
      }
    }
  }
}
