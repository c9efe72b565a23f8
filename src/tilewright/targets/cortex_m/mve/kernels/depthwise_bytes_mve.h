/* Bytes: 16 channels of a pixel at a time. Products of two taps fit 16 bits together: their sum is added to 32 bits.
 * Where taps are odd, there is another of weight 0. Totals come as channels 0 4 8 12, 1 5 9 13 and so on; 0 2 4 6,
 * 1 3 5 7 where 8 channels or fewer are left. */
#ifndef TW_DEPTHWISE_BYTES_MVE_H
#define TW_DEPTHWISE_BYTES_MVE_H

#include "depthwise_layer_mve.h"

#define TW_HALF (TW_VECTOR / 2)

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

TW_ALWAYS void sixteen(const layer *k, tw_vector_way way, window at, const int8_t *w, int32_t c, TW_Y *y,
                       int is_whole) {
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

/* Channels behind the last whole vector. */
TW_APART void last_channels(const layer *k, window at, const int8_t *w, int32_t c, TW_Y *y) {
  if (k->channels - c > TW_HALF) {
    sixteen(k, TW_ANY_WAY, at, w, c, y, 0);
  } else {
    eight(k, TW_ANY_WAY, at, w, c, y, 0);
  }
}

/* All channels of a pixel. */
TW_ALWAYS void one_pixel(const layer *k, tw_vector_way way, window at, TW_Y *y) {
  const int32_t size = 2 * k->pairs * TW_VECTOR, channels = k->channels;
  const int8_t *w = k->w;
  int32_t c = 0;
  for (; c + TW_VECTOR <= channels; c += TW_VECTOR, w += size, at.x += TW_VECTOR) {
    sixteen(k, way, at, w, c, y + c, 1);
  }
  if (way != TW_ANY_WAY && channels - c == TW_HALF) {
    eight(k, way, at, w, c, y + c, 1);
  } else if (c < channels) {
    last_channels(k, at, w, c, y + c);
  }
}

#endif
