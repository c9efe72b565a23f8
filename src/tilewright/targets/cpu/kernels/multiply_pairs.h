/* dot.h for Arm processors with smmla: two rows of eight bytes and two columns of eight are multiplied at once.
 *
 * Totals are paired meanwhile: those of two rows and two columns share a register. Two fours of two columns are put side
 * by side, which four pairs of rows share. */
#ifndef TW_MULTIPLY_PAIRS_H
#define TW_MULTIPLY_PAIRS_H

#define TW_IS_PAIRED(rows) ((rows) % 2 == 0)

TW_ALWAYS int32x4_t tw_first_halves(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}

TW_ALWAYS int32x4_t tw_second_halves(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}

/* From rows to pairs, and from pairs to rows. */
TW_ALWAYS void tw_turn_pairs(int rows, tw_sums *t) {
  if (!TW_IS_PAIRED(rows)) return;
  TW_UNROLLED for (int r = 0; r + 1 < rows; r += 2) {
    TW_UNROLLED for (int v = 0; v < 2; v++) {
      const int32x4_t a = t[r].v[v], b = t[r + 1].v[v];
      t[r].v[v] = tw_first_halves(a, b);
      t[r + 1].v[v] = tw_second_halves(a, b);
    }
  }
}

/* Eight bytes of all rows, by twos, and four columns of two fours of weights. */
TW_ALWAYS void tw_multiply_columns(int rows, tw_sums *t, int v, const int8x16_t *pair, int8x16_t four, int8x16_t next) {
  const int32x4_t a = vreinterpretq_s32_s8(four), b = vreinterpretq_s32_s8(next);
  const int8x16_t w0 = vreinterpretq_s8_s32(vzip1q_s32(a, b)), w1 = vreinterpretq_s8_s32(vzip2q_s32(a, b));
  TW_UNROLLED for (int r = 0; r < rows; r += 2) {
    t[r].v[v] = vmmlaq_s32(t[r].v[v], pair[r / 2], w0);
    t[r + 1].v[v] = vmmlaq_s32(t[r + 1].v[v], pair[r / 2], w1);
  }
}

TW_ALWAYS const int8_t *tw_multiply_eight(int rows, tw_sums *t, const int8x16_t *pair, const int8_t *w) {
  TW_UNROLLED for (int v = 0; v < 2; v++) {
    tw_multiply_columns(rows, t, v, pair, vld1q_s8(w + 16 * v), vld1q_s8(w + TW_STEP + 16 * v));
  }
  return w + 2 * TW_STEP;
}

TW_ALWAYS const int8_t *tw_multiply_pairs_sixteens(int rows, tw_sums *t, const int8_t *const *x, int64_t count,
                                                   const int8_t *w, int flip) {
  const int8x16_t sign = vdupq_n_s8((int8_t)flip);
  int8x16_t first[TW_ROWS / 2], second[TW_ROWS / 2];
  for (int64_t i = 0; i < count; i += 16) {
    TW_UNROLLED for (int r = 0; r < rows; r += 2) {
      int8x16_t a = vld1q_s8(x[r] + i), b = vld1q_s8(x[r + 1] + i);
      if (flip) a = veorq_s8(a, sign), b = veorq_s8(b, sign);
      first[r / 2] = vreinterpretq_s8_s32(tw_first_halves(vreinterpretq_s32_s8(a), vreinterpretq_s32_s8(b)));
      second[r / 2] = vreinterpretq_s8_s32(tw_second_halves(vreinterpretq_s32_s8(a), vreinterpretq_s32_s8(b)));
    }
    w = tw_multiply_eight(rows, t, first, w);
    w = tw_multiply_eight(rows, t, second, w);
  }
  return w;
}

/* The same of a multiple of 4. */
TW_ALWAYS const int8_t *tw_multiply_pairs(int rows, tw_sums *t, const int8_t *const *x, int32_t count, const int8_t *w,
                                          int flip) {
  const int8x16_t sign = vdupq_n_s8((int8_t)flip), none = vdupq_n_s8(0);
  int8x16_t pair[TW_ROWS / 2];
  int64_t i = count / 16 * 16;
  w = tw_multiply_pairs_sixteens(rows, t, x, i, w, flip);
  if (count & 8) {
    TW_UNROLLED for (int r = 0; r < rows; r += 2) {
      pair[r / 2] = veorq_s8(vcombine_s8(vld1_s8(x[r] + i), vld1_s8(x[r + 1] + i)), sign);
    }
    w = tw_multiply_eight(rows, t, pair, w);
    i += 8;
  }
  if (count & 4) {
    TW_UNROLLED for (int r = 0; r < rows; r += 2) {
      int32_t fours[4] = {0};
      memcpy(fours, x[r] + i, 4);
      memcpy(fours + 2, x[r + 1] + i, 4);
      pair[r / 2] = veorq_s8(vreinterpretq_s8_s32(vld1q_s32(fours)), sign);
    }
    TW_UNROLLED for (int v = 0; v < 2; v++) tw_multiply_columns(rows, t, v, pair, vld1q_s8(w + 16 * v), none);
    w += TW_STEP;
  }
  return w;
}

#endif
