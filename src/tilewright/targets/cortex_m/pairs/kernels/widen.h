/* Bytes become elements of 16 bits, two in a word. Needs TW_X. */
#ifndef TW_WIDEN_H
#define TW_WIDEN_H

#include <stdint.h>

#include "always.h"

/* A word that may begin anywhere. */
TW_ALWAYS uint32_t tw_word_at(const void *at) {
  uint32_t word;
  __builtin_memcpy(&word, at, sizeof word);
  return word;
}

#ifdef __ARM_FEATURE_DSP
#include <arm_acle.h>

/* Bytes 0 and 2 of a word, and bytes 1 and 3. */
TW_ALWAYS uint32_t tw_even(uint32_t x) { return (TW_X)-1 < 0 ? (uint32_t)__sxtb16(x) : (uint32_t)__uxtb16(x); }
TW_ALWAYS uint32_t tw_odd(uint32_t x) { return tw_even(x >> 8 | x << 24); }

/* Four words: one by one, which takes less time than two at a time. */
TW_ALWAYS void tw_store_4(uint32_t *to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  __asm__ volatile("str %1, [%0]\n\tstr %2, [%0, #4]\n\tstr %3, [%0, #8]\n\tstr %4, [%0, #12]"
                   :
                   : "r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
                   : "memory");
}
#else
TW_ALWAYS uint32_t tw_even(uint32_t x) { return ((uint32_t)(TW_X)x & 0xffff) | (uint32_t)(TW_X)(x >> 16) << 16; }
TW_ALWAYS uint32_t tw_odd(uint32_t x) { return tw_even(x >> 8); }
TW_ALWAYS void tw_store_4(uint32_t *to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  to[0] = a, to[1] = b, to[2] = c, to[3] = d;
}
#endif

/* The lower halves of two words, and the upper ones. */
TW_ALWAYS uint32_t tw_lower_halves(uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }
TW_ALWAYS uint32_t tw_upper_halves(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }

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

/* One element beside another. */
TW_ALWAYS uint32_t tw_beside(TW_X a, TW_X b) { return tw_lower_halves((uint32_t)(int32_t)a, (uint32_t)(int32_t)b); }

#endif
