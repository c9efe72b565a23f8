/* Elements of 16 bits as panels have them. Needs TW_X and widen.h. */
#ifndef TW_WIDEN_HALVES_H
#define TW_WIDEN_HALVES_H

/* Where tw_widen_words puts four elements. */
static const uint8_t tw_widened_order[4] __attribute__((unused)) = {0, 1, 2, 3};

/* Four elements that lie side by side, as two words. */
TW_ALWAYS void tw_widen_beside(const TW_X *x, uint32_t *to, int32_t apart) {
  to[0] = tw_word_at(x), to[apart] = tw_word_at(x + 2);
}

/* Rows `pitch` apart, two at a time, up to `end`: four elements of each. */
TW_ALWAYS uint32_t *tw_widen_rows(const TW_X *x, const TW_X *end, int32_t pitch, uint32_t *panel) {
  for (; x != end; x += 2 * pitch, panel += 4) {
    const uint32_t a = tw_word_at(x), b = tw_word_at(x + 2);
    const uint32_t c = tw_word_at(x + pitch), d = tw_word_at(x + pitch + 2);
    tw_store_4(panel, tw_lower_halves(a, c), tw_upper_halves(a, c), tw_lower_halves(b, d), tw_upper_halves(b, d));
  }
  return panel;
}

/* Four elements from each of four places, which are moved on. */
TW_ALWAYS uint32_t *tw_widen_words(const TW_X **x, int32_t fours, uint32_t *panel) {
  const TW_X *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  for (; fours > 0; fours--, panel += 8, x0 += 4, x1 += 4, x2 += 4, x3 += 4) {
    tw_store_4(panel, tw_word_at(x0), tw_word_at(x1), tw_word_at(x2), tw_word_at(x3));
    tw_store_4(panel + 4, tw_word_at(x0 + 2), tw_word_at(x1 + 2), tw_word_at(x2 + 2), tw_word_at(x3 + 2));
  }
  x[0] = x0, x[1] = x1, x[2] = x2, x[3] = x3;
  return panel;
}

/* Three columns for four pixels side by side, of rows two at a time; those of a column have `column` words in all. */
TW_ALWAYS const TW_X *tw_widen_three(const TW_X *x, int32_t pitch, uint32_t *panel, int32_t column) {
  for (const uint32_t *const end = panel + column; panel != end; x += 2 * pitch, panel += 4) {
    const TW_X *const other = x + pitch;
    const uint32_t a = tw_word_at(x), b = tw_word_at(x + 2), c = tw_word_at(x + 4);
    const uint32_t d = tw_word_at(other), e = tw_word_at(other + 2), f = tw_word_at(other + 4);
    const uint32_t second = tw_upper_halves(a, d), third = tw_lower_halves(b, e), fourth = tw_upper_halves(b, e);
    const uint32_t fifth = tw_lower_halves(c, f);
    tw_store_4(panel, tw_lower_halves(a, d), second, third, fourth);
    tw_store_4(panel + column, second, third, fourth, fifth);
    tw_store_4(panel + 2 * column, third, fourth, fifth, tw_upper_halves(c, f));
  }
  return x;
}

#endif
