/* Products of bytes by the instructions of x86-64, at any width of vectors.
 *
 * With VNNI an instruction sums four products of an unsigned and a signed byte. Numbers of a row get 128 added; what that
 * adds to totals is 128 times the sum of the weights, which is summed beside them. Without it, bytes are 16 bits wide
 * before they are multiplied: even and odd ones of a four apart, so that one instruction sums the products of two.
 *
 * On other processors the instructions are plain C: that is how they are tested there. */
#ifndef TW_MULTIPLY_X86_H
#define TW_MULTIPLY_X86_H

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define TW_ROWS (TW_VECTOR_BYTES == 64 ? 8 : 4)

typedef int32_t tw_words __attribute__((vector_size(TW_VECTOR_BYTES)));
typedef int16_t tw_halves __attribute__((vector_size(TW_VECTOR_BYTES)));
typedef int8_t tw_bytes __attribute__((vector_size(TW_VECTOR_BYTES)));

TW_ALWAYS tw_bytes tw_bytes_load(const int8_t *from) {
  tw_bytes made;
  memcpy(&made, from, sizeof made);
  return made;
}

/* Four bytes of a row, again and again. */
TW_ALWAYS tw_bytes tw_fours(const int8_t *from) {
  int32_t four;
  memcpy(&four, from, sizeof four);
  return (tw_bytes)((tw_words){0} + four);
}

#if defined(TW_DOT_VNNI)

/* Adds the products of four unsigned and four signed bytes to each total. */
TW_ALWAYS tw_words tw_add_fours(tw_words total, tw_bytes raised, tw_bytes w) {
#if defined(__AVX512VNNI__) && TW_VECTOR_BYTES == 64
  return (tw_words)_mm512_dpbusd_epi32((__m512i)total, (__m512i)raised, (__m512i)w);
#elif defined(__AVXVNNI__) && TW_VECTOR_BYTES == 32
  return (tw_words)_mm256_dpbusd_avx_epi32((__m256i)total, (__m256i)raised, (__m256i)w);
#elif defined(__AVX512VNNI__) && defined(__AVX512VL__) && TW_VECTOR_BYTES == 32
  return (tw_words)_mm256_dpbusd_epi32((__m256i)total, (__m256i)raised, (__m256i)w);
#else
  for (int i = 0; i < TW_VECTOR_BYTES; i++) total[i / 4] += (uint8_t)raised[i] * w[i];
  return total;
#endif
}

/* Numbers from -128 to 127 as numbers from 0 to 255. */
TW_ALWAYS tw_bytes tw_raised(tw_bytes x) { return x ^ (int8_t)-128; }

#define TW_RAISED_ZERO tw_raised((tw_bytes){0})

/* Adds the products of `count` bytes of each row, a multiple of 4, to the totals; returns the weights that follow.
 * `flip` is 0x80 for unsigned bytes. */
TW_ALWAYS const int8_t *tw_multiply(int rows, tw_sums *t, const int8_t *const *x, int32_t count, const int8_t *w,
                                    int flip) {
  tw_words total[TW_ROWS][2], too_much[2] = {{0}, {0}};
  for (int r = 0; r < rows; r++) memcpy(total[r], t[r].v, sizeof total[r]);
  for (int32_t i = 0; i < count; i += 4, w += TW_STEP) {
    const tw_bytes w0 = tw_bytes_load(w), w1 = tw_bytes_load(w + TW_VECTOR_BYTES);
    too_much[0] = tw_add_fours(too_much[0], TW_RAISED_ZERO, w0);
    too_much[1] = tw_add_fours(too_much[1], TW_RAISED_ZERO, w1);
    TW_UNROLLED for (int r = 0; r < rows; r++) {
      const tw_bytes four = tw_fours(x[r] + i), a = flip ? four : tw_raised(four);
      total[r][0] = tw_add_fours(total[r][0], a, w0);
      total[r][1] = tw_add_fours(total[r][1], a, w1);
    }
  }
  for (int r = 0; r < rows; r++) {
    total[r][0] -= too_much[0];
    total[r][1] -= too_much[1];
    memcpy(t[r].v, total[r], sizeof total[r]);
  }
  return w;
}

/* Sums of four products. */
TW_ALWAYS tw_words tw_products_of_fours(tw_bytes x, tw_bytes w) {
  return tw_add_fours((tw_words){0}, tw_raised(x), w) - tw_add_fours((tw_words){0}, TW_RAISED_ZERO, w);
}

#else

/* Sums of the products of two neighbours. */
TW_ALWAYS tw_words tw_products_of_pairs(tw_halves x, tw_halves w) {
#if defined(__AVX512BW__) && TW_VECTOR_BYTES == 64
  return (tw_words)_mm512_madd_epi16((__m512i)x, (__m512i)w);
#elif defined(__AVX2__) && TW_VECTOR_BYTES == 32
  return (tw_words)_mm256_madd_epi16((__m256i)x, (__m256i)w);
#elif defined(__SSE2__) && TW_VECTOR_BYTES == 16
  return (tw_words)_mm_madd_epi16((__m128i)x, (__m128i)w);
#else
  tw_words made;
  for (int i = 0; i < TW_VECTOR_BYTES / 4; i++) made[i] = x[2 * i] * w[2 * i] + x[2 * i + 1] * w[2 * i + 1];
  return made;
#endif
}

TW_ALWAYS tw_halves tw_even(tw_bytes x) { return ((tw_halves)x << 8) >> 8; }
TW_ALWAYS tw_halves tw_odd(tw_bytes x) { return (tw_halves)x >> 8; }

/* Adds the products of `count` bytes of each row, a multiple of 4, to the totals; returns the weights that follow.
 * `flip` is 0x80 for unsigned bytes. */
TW_ALWAYS const int8_t *tw_multiply(int rows, tw_sums *t, const int8_t *const *x, int32_t count, const int8_t *w,
                                    int flip) {
  tw_words total[TW_ROWS][2];
  for (int r = 0; r < rows; r++) memcpy(total[r], t[r].v, sizeof total[r]);
  for (int32_t i = 0; i < count; i += 4, w += TW_STEP) {
    const tw_bytes w0 = tw_bytes_load(w), w1 = tw_bytes_load(w + TW_VECTOR_BYTES);
    const tw_halves even0 = tw_even(w0), odd0 = tw_odd(w0), even1 = tw_even(w1), odd1 = tw_odd(w1);
    TW_UNROLLED for (int r = 0; r < rows; r++) {
      const tw_bytes four = tw_fours(x[r] + i), a = flip ? four ^ (int8_t)-128 : four;
      const tw_halves even = tw_even(a), odd = tw_odd(a);
      total[r][0] += tw_products_of_pairs(even, even0) + tw_products_of_pairs(odd, odd0);
      total[r][1] += tw_products_of_pairs(even, even1) + tw_products_of_pairs(odd, odd1);
    }
  }
  for (int r = 0; r < rows; r++) memcpy(t[r].v, total[r], sizeof total[r]);
  return w;
}

/* Sums of four products. */
TW_ALWAYS tw_words tw_products_of_fours(tw_bytes x, tw_bytes w) {
  return tw_products_of_pairs(tw_even(x), tw_even(w)) + tw_products_of_pairs(tw_odd(x), tw_odd(w));
}

#endif

TW_ALWAYS void tw_multiply_taps(int halves, tw_sums *t, const tw_taps *x, const tw_taps *w) {
  const int8_t *const a = x->v[0], *const b = w->v[0];
  for (int h = 0; h < halves; h++) {
    tw_words total[2];
    memcpy(total, t[h].v, sizeof total);
    for (int i = 0; i < 2; i++) {
      const int at = (2 * h + i) * TW_VECTOR_BYTES;
      total[i] += tw_products_of_fours(tw_bytes_load(a + at), tw_bytes_load(b + at));
    }
    memcpy(t[h].v, total, sizeof total);
  }
}

#endif
