/* Sums of products of bytes and weights of two bits, bit by bit, by TW_BITS2_S2: of four filters at once with 4, 2 or 1 pixels. The
 * bytes of sixteen taps are four words: of two bits each, the lowest first. Those of four pixels lie side by side, and so do the words
 * of four filters with sixteen weights each. Needs TW_X. */
#ifndef TW_BIT_PRODUCTS_H
#define TW_BIT_PRODUCTS_H

#include "always.h"
#include "filter_block.h"
#include "patterns.h"

/* Pixels of a panel, and weights of a word. */
#define TW_PANEL 4
#define TW_WEIGHTS_OF_WORD 16
#define TW_PAIRS 4 /* of bits of a byte */

/* Totals of a block: four of each filter, of which fewer may be in use. */
typedef int32_t tw_totals[TW_BLOCK][TW_PANEL];

/* Signed bytes are multiplied as unsigned ones, with 128 more: what begins a total has the rest. */
#define TW_AS_DOTTED(x) ((int8_t)((x) ^ ((TW_X)-1 < 0 ? 128 : 0)))

/* Eight bytes as eight planes: byte p of both words has bit p of each. */
TW_ALWAYS void tw_turn_bits(uint32_t *low, uint32_t *high) {
  uint32_t a = *low, b = *high, t;
  t = (a ^ a >> 7) & 0x00aa00aa, a ^= t ^ t << 7, t = (b ^ b >> 7) & 0x00aa00aa, b ^= t ^ t << 7;
  t = (a ^ a >> 14) & 0x0000cccc, a ^= t ^ t << 14, t = (b ^ b >> 14) & 0x0000cccc, b ^= t ^ t << 14;
  t = (a ^ b << 4) & 0xf0f0f0f0, *low = a ^ t, *high = b ^ t >> 4;
}

/* Two planes of both, those of the second one in the upper half. */
TW_ALWAYS uint32_t tw_two_planes(uint32_t first, uint32_t second) {
  return (first & 0xff) | (second & 0xff) << 8 | (first & 0xff00) << 8 | (second & 0xff00) << 16;
}

/* Words of bytes, `step` apart, become words of bits. */
static __attribute__((noinline)) void tw_as_bits(uint32_t *words, int32_t taps, int32_t step, int32_t pixels) {
  for (int32_t left = taps; left > 0; left -= TW_WEIGHTS_OF_WORD, words += 4 * step) {
    for (uint32_t *at = words, *const end = words + pixels; at != end; at++) {
      uint32_t a = at[0], b = at[step], c = at[2 * step], d = at[3 * step];
      tw_turn_bits(&a, &b);
      tw_turn_bits(&c, &d);
      at[0] = tw_two_planes(a, c), at[step] = tw_two_planes(a >> 16, c >> 16);
      at[2 * step] = tw_two_planes(b, d), at[3 * step] = tw_two_planes(b >> 16, d >> 16);
    }
  }
}

#define TW_READY(words, taps, step, pixels) tw_as_bits(words, taps, step, pixels)

/* What one pair of bits adds to four times the sum of those above. */
#define TW_DEFINE_BITS(NAME, PIXELS)                                                                                        \
  TW_ALWAYS void NAME(const uint32_t *x, int32_t step, const uint32_t *w, int32_t words, const int32_t *start, tw_totals total) { \
    const uint32_t *const end = w + TW_BLOCK * words;                                                                       \
    uint32_t sum[TW_BLOCK][PIXELS] = {{0}};                                                                                 \
    for (int32_t pair = TW_PAIRS - 1; pair >= 0; pair--) {                                                                  \
      const uint32_t *at = x + pair * step;                                                                                 \
      for (int32_t f = 0; f < TW_BLOCK; f++)                                                                                \
        for (int32_t i = 0; i < PIXELS; i++) sum[f][i] <<= 2;                                                               \
      for (const uint32_t *k = w; k != end; k += TW_BLOCK, at += TW_PAIRS * step) {                                         \
        const uint32_t w0 = k[0], w1 = k[1], w2 = k[2], w3 = k[3];                                                          \
        for (int32_t i = 0; i < PIXELS; i++) {                                                                              \
          const uint32_t bits = at[i];                                                                                      \
          sum[0][i] = TW_BITS2_S2(sum[0][i], bits, w0), sum[1][i] = TW_BITS2_S2(sum[1][i], bits, w1);                       \
          sum[2][i] = TW_BITS2_S2(sum[2][i], bits, w2), sum[3][i] = TW_BITS2_S2(sum[3][i], bits, w3);                       \
        }                                                                                                                   \
      }                                                                                                                     \
    }                                                                                                                       \
    for (int32_t f = 0; f < TW_BLOCK; f++)                                                                                  \
      for (int32_t i = 0; i < PIXELS; i++) total[f][i] = (int32_t)((uint32_t)start[f] + sum[f][i]);                         \
  }
TW_DEFINE_BITS(tw_bits_4, 4)
TW_DEFINE_BITS(tw_bits_2, 2)
TW_DEFINE_BITS(tw_dots_1, 1)

TW_ALWAYS void tw_dots_4(const uint32_t *x, const uint32_t *w, int32_t words, const int32_t *start, tw_totals total) {
  tw_bits_4(x, TW_PANEL, w, words, start, total);
}

TW_ALWAYS void tw_dots_2(const uint32_t *x, const uint32_t *w, int32_t words, const int32_t *start, tw_totals total) {
  tw_bits_2(x, TW_PANEL, w, words, start, total);
}

#endif
