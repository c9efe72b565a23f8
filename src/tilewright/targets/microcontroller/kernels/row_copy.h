/* Rows of an image with their padding. Needs TW_X. */
#ifndef TW_ROW_COPY_H
#define TW_ROW_COPY_H

#include "conv_blocked_sizes.h"

#ifdef __riscv_vector
#include <riscv_vector.h>

static inline void tw_fill(TW_X *to, int32_t count, TW_X value) {
  for (size_t vl; count > 0; to += vl, count -= (int32_t)vl) {
    vl = __riscv_vsetvl_e8m8((size_t)count);
    __riscv_vse8_v_i8m8((int8_t *)to, __riscv_vmv_v_x_i8m8((int8_t)value, vl), vl);
  }
}

static inline void tw_copy(const TW_X *restrict from, int32_t count, TW_X *restrict to) {
  for (size_t vl; count > 0; from += vl, to += vl, count -= (int32_t)vl) {
    vl = __riscv_vsetvl_e8m8((size_t)count);
    __riscv_vse8_v_i8m8((int8_t *)to, __riscv_vle8_v_i8m8((const int8_t *)from, vl), vl);
  }
}
#else
static inline void tw_fill(TW_X *to, int32_t count, TW_X value) {
  for (int32_t i = 0; i < count; i++) to[i] = value;
}

typedef uint32_t __attribute__((may_alias)) tw_word;

/* By words where both begin at one, or where words may begin anywhere. */
static inline void tw_copy(const TW_X *restrict from, int32_t count, TW_X *restrict to) {
  int32_t i = 0;
#ifdef __ARM_FEATURE_UNALIGNED
  for (; i + 16 <= count; i += 16) __builtin_memcpy(to + i, from + i, 16 * sizeof(TW_X));
  for (; i + 4 <= count; i += 4) __builtin_memcpy(to + i, from + i, 4 * sizeof(TW_X));
  for (; i < count; i++) to[i] = from[i];
  return;
#endif
  if (sizeof(TW_X) == 1 && (((uintptr_t)from | (uintptr_t)to) & 3) == 0) {
    for (; i + 4 <= count; i += 4) {
      *(tw_word *)(void *)(to + i) = *(const tw_word *)(const void *)(from + i);
    }
  }
  for (; i + 4 <= count; i += 4) {
    const TW_X a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];
    to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;
  }
  for (; i < count; i++) to[i] = from[i];
}
#endif

/* A row of the image, or of nothing but padding, as a row of a band. */
static inline void tw_padded_row(const tw_conv_params *p, const TW_X *plane, int32_t in_y, int32_t width, TW_X *to) {
  const TW_X zero = (TW_X)p->x_zero;
  if (in_y < 0 || in_y >= p->in_h) {
    tw_fill(to, width, zero);
    return;
  }
  const int32_t left = tw_min(p->pad_left, width), inside = tw_min(p->in_w, width - left);
  tw_fill(to, left, zero);
  tw_copy(plane + in_y * p->in_w, inside, to + left);
  tw_fill(to + left + inside, width - left - inside, zero);
}

#endif
