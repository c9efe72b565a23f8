/* Bytes as elements of 16 bits. Needs TW_X and widen.h. */
#ifndef TW_WIDEN_BYTES_H
#define TW_WIDEN_BYTES_H

/* Bytes 0 and 2 of a word, and bytes 1 and 3. */
#ifdef __ARM_FEATURE_DSP
TW_ALWAYS uint32_t tw_even(uint32_t x) { return (TW_X)-1 < 0 ? (uint32_t)__sxtb16(x) : (uint32_t)__uxtb16(x); }
TW_ALWAYS uint32_t tw_odd(uint32_t x) { return tw_even(x >> 8 | x << 24); }
#else
TW_ALWAYS uint32_t tw_even(uint32_t x) { return ((uint32_t)(TW_X)x & 0xffff) | (uint32_t)(TW_X)(x >> 16) << 16; }
TW_ALWAYS uint32_t tw_odd(uint32_t x) { return tw_even(x >> 8); }
#endif

/* Where tw_widen_words puts four bytes. */
static const uint8_t tw_widened_order[4] __attribute__((unused)) = {0, 2, 1, 3};

/* Four elements that lie side by side, as two words. */
TW_ALWAYS void tw_widen_beside(const TW_X *x, uint32_t *to, int32_t apart) {
  const uint32_t word = tw_word_at(x), even = tw_even(word), odd = tw_odd(word);
  to[0] = tw_lower_halves(even, odd), to[apart] = tw_upper_halves(even, odd);
}

/* Four elements of one row beside four of another: a word for each. */
TW_ALWAYS void tw_widen_4(const TW_X *a, const TW_X *b, uint32_t *to) {
  const uint32_t first = tw_word_at(a), second = tw_word_at(b);
  const uint32_t even = tw_even(first), odd = tw_odd(first), even_2 = tw_even(second), odd_2 = tw_odd(second);
  tw_store_4(to, tw_lower_halves(even, even_2), tw_lower_halves(odd, odd_2), tw_upper_halves(even, even_2),
             tw_upper_halves(odd, odd_2));
}

/* The compiler runs out of registers in the loops behind. */
#ifdef __ARM_FEATURE_DSP
#define TW_EVEN_int8_t "sxtb16 "
#define TW_EVEN_uint8_t "uxtb16 "
#define TW_EVEN_OF_(type) TW_EVEN_##type
#define TW_EVEN_OF(type) TW_EVEN_OF_(type)
#define TW_EVEN(to, from) TW_EVEN_OF(TW_X) to ", " from "\n\t"
#define TW_ODD(to, from) TW_EVEN_OF(TW_X) to ", " from ", ror #8\n\t"

/* Rows `pitch` apart, two at a time, up to `end`: four elements of each. */
TW_ALWAYS uint32_t *tw_widen_rows(const TW_X *x, const TW_X *end, int32_t pitch, uint32_t *panel) {
  uint32_t a, b, c, d, e;
  __asm__ volatile(
      ".balign 4\n\t1:\n\tldr.w %[a], [%[x]]\n\tldr.w %[b], [%[x], %[pitch]]\n\tadd.w %[x], %[x], %[pitch], lsl #1\n\t"
      TW_EVEN("%[c]", "%[a]") TW_EVEN("%[d]", "%[b]") TW_ODD("%[a]", "%[a]") TW_ODD("%[b]", "%[b]")
      "pkhbt %[e], %[c], %[d], lsl #16\n\tstr %[e], [%[to]], #16\n\tpkhbt %[e], %[a], %[b], lsl #16\n\t"
      "pkhtb %[c], %[d], %[c], asr #16\n\tpkhtb %[a], %[b], %[a], asr #16\n\tcmp %[x], %[end]\n\t"
      "str %[e], [%[to], #-12]\n\tstr %[c], [%[to], #-8]\n\tstr %[a], [%[to], #-4]\n\tbne 1b"
      : [x] "+&r"(x), [to] "+&r"(panel), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e)
      : [pitch] "r"(pitch), [end] "r"(end)
      : "memory", "cc");
  return panel;
}

/* Words from four places, which are moved on: even bytes of each, then odd ones. */
TW_ALWAYS uint32_t *tw_widen_words(const TW_X **x, int32_t words, uint32_t *panel) {
  const TW_X *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  const TW_X *const end = x0 + 4 * words;
  uint32_t a, b, c, d, e;
  __asm__ volatile(
      ".balign 4\n\t1:\n\tldr %[a], [%[x0]], #4\n\tldr %[b], [%[x1]], #4\n\tldr %[c], [%[x2]], #4\n\tldr %[d], [%[x3]], #4\n\t"
      TW_EVEN("%[e]", "%[a]") TW_ODD("%[a]", "%[a]") "str %[e], [%[to]], #32\n\t"
      TW_EVEN("%[e]", "%[b]") TW_ODD("%[b]", "%[b]") "str %[e], [%[to], #-28]\n\t"
      TW_EVEN("%[e]", "%[c]") TW_ODD("%[c]", "%[c]") "str %[e], [%[to], #-24]\n\t"
      TW_EVEN("%[e]", "%[d]") TW_ODD("%[d]", "%[d]") "str %[e], [%[to], #-20]\n\tcmp %[x0], %[end]\n\t"
      "str %[a], [%[to], #-16]\n\tstr %[b], [%[to], #-12]\n\tstr %[c], [%[to], #-8]\n\tstr %[d], [%[to], #-4]\n\t"
      "bne 1b"
      : [x0] "+&r"(x0), [x1] "+&r"(x1), [x2] "+&r"(x2), [x3] "+&r"(x3), [to] "+&r"(panel), [a] "=&r"(a), [b] "=&r"(b),
        [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e)
      : [end] "r"(end)
      : "memory", "cc");
  x[0] = x0, x[1] = x1, x[2] = x2, x[3] = x3;
  return panel;
}

/* Three columns for four pixels side by side, of rows two at a time; those of a column have `column` words in all. */
TW_ALWAYS const TW_X *tw_widen_three(const TW_X *x, int32_t pitch, uint32_t *panel, int32_t column) {
  uint32_t *second = panel + column, *third = second + column, *const end = second;
  uint32_t a, b, c, d, e, f, g;
  __asm__ volatile(
      ".balign 4\n\t1:\n\tadd.w %[g], %[x], %[pitch]\n\tldr.w %[a], [%[x]]\n\tldr.w %[c], [%[x], #4]\n\tldr.w %[b], [%[g]]\n\t"
      "ldr.w %[d], [%[g], #4]\n\tadd.w %[x], %[x], %[pitch], lsl #1\n\t"
      TW_EVEN("%[e]", "%[a]") TW_EVEN("%[f]", "%[b]") TW_ODD("%[a]", "%[a]") TW_ODD("%[b]", "%[b]")
      "pkhbt %[g], %[e], %[f], lsl #16\n\tpkhtb %[e], %[f], %[e], asr #16\n\tpkhbt %[f], %[a], %[b], lsl #16\n\t"
      "pkhtb %[a], %[b], %[a], asr #16\n\t"
      "str %[g], [%[to]], #16\n\tstr %[f], [%[to], #-12]\n\tstr %[e], [%[to], #-8]\n\tstr %[a], [%[to], #-4]\n\t"
      TW_EVEN("%[g]", "%[c]") TW_EVEN("%[b]", "%[d]") "pkhbt %[g], %[g], %[b], lsl #16\n\t"
      "str %[f], [%[second]], #16\n\tstr %[e], [%[second], #-12]\n\tstr %[a], [%[second], #-8]\n\t"
      "str %[g], [%[second], #-4]\n\t"
      TW_ODD("%[c]", "%[c]") TW_ODD("%[d]", "%[d]") "pkhbt %[c], %[c], %[d], lsl #16\n\tcmp %[to], %[end]\n\t"
      "str %[e], [%[third]], #16\n\tstr %[a], [%[third], #-12]\n\tstr %[g], [%[third], #-8]\n\t"
      "str %[c], [%[third], #-4]\n\tbne 1b"
      : [x] "+&r"(x), [to] "+&r"(panel), [second] "+&r"(second), [third] "+&r"(third), [a] "=&r"(a), [b] "=&r"(b),
        [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e), [f] "=&r"(f), [g] "=&r"(g)
      : [pitch] "r"(pitch), [end] "r"(end)
      : "memory", "cc");
  return x;
}
#else
TW_ALWAYS uint32_t *tw_widen_rows(const TW_X *x, const TW_X *end, int32_t pitch, uint32_t *panel) {
  for (; x != end; x += 2 * pitch, panel += 4) tw_widen_4(x, x + pitch, panel);
  return panel;
}

TW_ALWAYS uint32_t *tw_widen_words(const TW_X **x, int32_t words, uint32_t *panel) {
  for (; words > 0; words--, panel += 8) {
    for (int32_t i = 0; i < 4; i++, x[i - 1] += 4) {
      panel[i] = tw_even(tw_word_at(x[i])), panel[4 + i] = tw_odd(tw_word_at(x[i]));
    }
  }
  return panel;
}

TW_ALWAYS const TW_X *tw_widen_three(const TW_X *x, int32_t pitch, uint32_t *panel, int32_t column) {
  for (const uint32_t *const end = panel + column; panel != end; x += 2 * pitch, panel += 4) {
    for (int32_t i = 0; i < 3; i++) tw_widen_4(x + i, x + i + pitch, panel + i * column);
  }
  return x;
}
#endif

#endif
