/* Products of bytes in plain C. */
#ifndef TW_MULTIPLY_PLAIN_H
#define TW_MULTIPLY_PLAIN_H

#define TW_ROWS 4

/* Adds the products of `count` bytes of each row, a multiple of 4, to the totals; returns the weights that follow.
 * `flip` is 0x80 for unsigned bytes. */
TW_ALWAYS const int8_t *tw_multiply(int rows, tw_sums *t, const int8_t *const *x, int32_t count, const int8_t *w,
                                    int flip) {
  for (int32_t i = 0; i < count; i += 4, w += TW_STEP) {
    for (int r = 0; r < rows; r++) {
      int16_t a[4];
      for (int k = 0; k < 4; k++) a[k] = (int8_t)(x[r][i + k] ^ flip);
      for (int c = 0; c < TW_COLUMNS; c++) {
        const int8_t *const b = w + 4 * c;
        t[r].v[c] += a[0] * (int16_t)b[0] + a[1] * (int16_t)b[1] + a[2] * (int16_t)b[2] + a[3] * (int16_t)b[3];
      }
    }
  }
  return w;
}

TW_ALWAYS void tw_multiply_taps(int halves, tw_sums *t, const tw_taps *x, const tw_taps *w) {
  for (int h = 0; h < halves; h++) {
    for (int c = 0; c < TW_COLUMNS; c++) {
      const int8_t *const a = x->v[h * TW_COLUMNS + c], *const b = w->v[h * TW_COLUMNS + c];
      t[h].v[c] += a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    }
  }
}

#endif
