/* The cores take results on which both lines of N-EUREKA agree, and make the others from sums of products. */
#ifndef TW_NEUREKA_BRACKET_H
#define TW_NEUREKA_BRACKET_H

#include "cluster.h"
#include "dot.h"
#include "neureka_bracketed.h"

typedef struct {
  const tw_neureka_bracketed_params *p;
  const TW_X *x;
  const int32_t *bias, *mul, *exponent; /* the exact ones */
  const int8_t *plain;
  uint8_t *y;
} tw_bracket;

/* ---- one result ---- */

static inline int32_t tw_bracket_dot(int32_t total, const TW_X *x, const int8_t *w, int32_t bytes) {
  int32_t words = bytes >> 2;
#if TW_XPULP
  if (words > 0) {
    uint32_t a, b;
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[words]", 3) TW_A_LW("%[a]", "%[x]", "4") TW_A_LW("%[b]", "%[w]", "4")
                     TW_A_DOT("%[t]", "%[a]", "%[b]") TW_A_END
                     : [t] "+r"(total), [x] "+r"(x), [w] "+r"(w), [a] "=&r"(a), [b] "=&r"(b)
                     : [words] "r"(words), [dot] "i"(TW_I_DOT((TW_X)-1 < 0, 1))
                     : "memory");
  }
#else
  for (; words > 0; words--, x += 4, w += 4) total = tw_dot(total, tw_x_load(x), tw_x_load(w), (TW_X)-1 < 0, 1);
#endif
  for (int32_t i = 0; i < (bytes & 3); i++) total += x[i] * w[i];
  return total;
}

/* Both roundings of TensorFlow Lite as one (neureka/finish.py says why). */
static inline uint8_t tw_bracket_result(const tw_bracket *k, int32_t filter, int32_t total) {
  const tw_neureka_bracketed_params *const p = k->p;
  const int32_t right = -k->exponent[filter];
  const int32_t high = (int32_t)((int64_t)(4 * total) * k->mul[filter] >> 32) - (total < 0 ? p->less : 0);
  return (uint8_t)(tw_x_clipu((high + p->summand + (p->halves << right)) >> (right + 1), p->top_result) + p->low);
}

/* Bytes of a word that differ, of a pixel whose window is a run of bytes; the word lies so many bytes into the results. */
static __attribute__((noinline)) void tw_bracket_mend_run(const tw_bracket *k, int32_t at, uint32_t apart, const TW_X *from,
                                                          int32_t filter) {
  const int32_t bytes = k->p->channels;
  for (; apart != 0; filter++, at++, apart >>= 8) {
    const int32_t lanes = tw_x_ff1(apart) >> 3;
    filter += lanes, at += lanes, apart >>= 8 * lanes;
    const int32_t total = tw_bracket_dot(k->bias[filter], from, k->plain + filter * bytes, bytes);
    k->y[at] = tw_bracket_result(k, filter, total);
  }
}

/* What lies under a window: of its taps, those of rows and columns from the first to before the last are inside the image. */
typedef struct {
  const TW_X *from; /* the first tap */
  int32_t row, pixel;
  int32_t first_row, last_row, first, last;
} tw_bracket_window;

/* Products of all taps with what lies outside the image. */
static TW_COMPACT int32_t tw_bracket_outside(const tw_bracket *k, const tw_bracket_window *at, const int8_t *w) {
  const tw_neureka_bracketed_params *const p = k->p;
  int32_t sum = 0;
  for (int32_t r = 0; r < p->taps_h; r++) {
    for (int32_t c = 0; c < p->taps_w; c++) {
      const int is_inside = r >= at->first_row && r < at->last_row && c >= at->first && c < at->last;
      for (int32_t i = 0; i < p->channels; i++, w++) sum += is_inside ? 0 : *w;
    }
  }
  return p->fill * sum;
}

/* A filter for each channel: one byte of a pixel under each tap. */
static inline int32_t tw_bracket_channel(int32_t total, const tw_bracket_window *at, const TW_X *from, const int8_t *w,
                                         int32_t taps_w) {
  const int32_t first = at->first, last = at->last, pixel = at->pixel, row = at->row, rows = at->last_row;
  from += at->first_row * row + first * pixel, w += at->first_row * taps_w;
  for (int32_t r = at->first_row; r < rows; r++, from += row, w += taps_w) {
    const TW_X *x = from;
    for (int32_t c = first; c < last; c++, x += pixel) total += *x * w[c];
  }
  return total;
}

static inline int32_t tw_bracket_rows(int32_t total, const tw_bracket_window *at, const int8_t *w, int32_t taps) {
  const int32_t first = at->first * at->pixel, bytes = at->last * at->pixel - first;
  for (int32_t r = at->first_row; r < at->last_row; r++) {
    total = tw_bracket_dot(total, at->from + r * at->row + first, w + r * taps + first, bytes);
  }
  return total;
}

/* The same of one whose window has several taps, of which some may lie outside the image. */
static __attribute__((noinline)) void tw_bracket_mend_window(const tw_bracket *k, int32_t at, uint32_t apart,
                                                             const TW_X *from, int32_t filter, int32_t y, int32_t x) {
  const tw_neureka_bracketed_params *const p = k->p;
  const int32_t taps_h = p->taps_h, taps_w = p->taps_w, channels = p->channels, pixel = p->pixel;
  const tw_bracket_window window = {from, p->width * pixel, pixel, tw_x_max(0, -y), tw_x_min(taps_h, p->height - y),
                                    tw_x_max(0, -x), tw_x_min(taps_w, p->width - x)};
  for (; apart != 0; filter++, at++, apart >>= 8) {
    if ((apart & 0xff) == 0) continue;
    const int8_t *const w = k->plain + filter * taps_h * taps_w * channels;
    int32_t total = k->bias[filter];
    if (p->fill != 0) total += tw_bracket_outside(k, &window, w);
    total = channels == pixel ? tw_bracket_rows(total, &window, w, taps_w * channels)
                              : tw_bracket_channel(total, &window, from + filter, w, taps_w);
    k->y[at] = tw_bracket_result(k, filter, total);
  }
}

static inline int32_t tw_bracket_over(int32_t count, int32_t size) {
  const int32_t bits = tw_x_ff1((uint32_t)size);
  return size == 1 << bits ? count >> bits : (int32_t)((uint32_t)count / (uint32_t)size);
}

static void tw_bracket_mend(const tw_bracket *k, int32_t at, uint32_t apart) {
  const tw_neureka_bracketed_params *const p = k->p;
  const int32_t pixel = tw_bracket_over(at, p->filters), filter = at - pixel * p->filters;
  int32_t row = 0, column = pixel, image = 0;
  if (pixel >= p->columns) row = tw_bracket_over(pixel, p->columns), column -= row * p->columns;
  if (row >= p->rows) image = tw_bracket_over(row, p->rows), row -= image * p->rows;
  const TW_X *const from = k->x + p->x_first + image * p->x_image + row * p->x_row + column * p->x_column;
  if (p->taps_h * p->taps_w == 1) {
    tw_bracket_mend_run(k, at, apart, from, filter);
  } else {
    tw_bracket_mend_window(k, at, apart, from, filter, row * p->step_h - p->top, column * p->step_w - p->left);
  }
}

/* ---- words of results ---- */

/* Pairs of words that are equal are copied, up to the first that are not; how many. */
static inline int32_t tw_bracket_pairs(const uint8_t *lower, const uint8_t *upper, uint8_t *y, int32_t pairs) {
#if TW_XPULP
  uint8_t *const start = y;
  uint32_t a, b, c, d;
  if (pairs <= 0) return 0;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 8) TW_A_LW("%[a]", "%[lower]", "4") TW_A_LW("%[b]", "%[upper]", "4")
                   TW_A_LW("%[c]", "%[lower]", "4") TW_A_LW("%[d]", "%[upper]", "4")
                   "bne %[a], %[b], 1f\nbne %[c], %[d], 1f\n"
                   TW_A_SW("%[a]", "%[y]", "4") TW_A_SW("%[c]", "%[y]", "4") "1:\n" TW_A_END
                   : [lower] "+r"(lower), [upper] "+r"(upper), [y] "+r"(y), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c),
                     [d] "=&r"(d)
                   : [pairs] "r"(pairs)
                   : "memory");
  return (int32_t)(y - start) >> 3;
#else
  int32_t done = 0;
  for (; done < pairs; done++) {
    const uint32_t a = tw_x_load(lower + 8 * done), b = tw_x_load(lower + 8 * done + 4);
    if (a != tw_x_load(upper + 8 * done) || b != tw_x_load(upper + 8 * done + 4)) break;
    tw_x_store(y + 8 * done, a);
    tw_x_store(y + 8 * done + 4, b);
  }
  return done;
#endif
}

/* One word, so many bytes into the results. */
static inline void tw_bracket_word(const tw_bracket *k, const uint8_t *lower, int32_t at) {
  const uint32_t low = tw_x_load(lower), high = tw_x_load(lower + k->p->made);
  tw_x_store(k->y + at, low);
  if (low != high) tw_bracket_mend(k, at, low ^ high);
}

static inline void tw_bracket_words(const tw_bracket *k, const uint8_t *lower, int32_t at, int32_t words) {
  for (;;) {
    const int32_t equal = 2 * tw_bracket_pairs(lower, lower + k->p->made, k->y + at, words >> 1);
    lower += 4 * equal, at += 4 * equal, words -= equal;
    if (words == 0) return;
    tw_bracket_word(k, lower, at);
    lower += 4, at += 4;
    if (--words == 0) return;
    tw_bracket_word(k, lower, at);
    lower += 4, at += 4, words--;
  }
}

/* This core's part: words where N-EUREKA has made what is wanted, otherwise pixels. */
static inline void tw_bracket_all(const tw_bracket *k, const uint8_t *made) {
  const tw_neureka_bracketed_params *const p = k->p;
  const int32_t pixels = p->images * p->rows * p->columns;
  if (p->source_pixel == p->filters && p->source_row == p->columns * p->filters) {
    const tw_share share = tw_share_of(pixels * p->filters >> 2);
    if (share.first < share.end) tw_bracket_words(k, made + 4 * share.first, 4 * share.first, share.end - share.first);
    return;
  }
  const tw_share share = tw_share_of(pixels);
  int32_t row = (int32_t)((uint32_t)share.first / (uint32_t)p->columns), column = share.first - row * p->columns;
  int32_t image = (int32_t)((uint32_t)row / (uint32_t)p->rows);
  row -= image * p->rows;
  for (int32_t i = share.first; i < share.end; i++) {
    const uint8_t *const from = made + image * p->source_image + row * p->source_row + column * p->source_pixel;
    tw_bracket_words(k, from, i * p->filters, p->filters >> 2);
    if (++column < p->columns) continue;
    column = 0;
    if (++row == p->rows) row = 0, image++;
  }
}

static inline void tw_bracket_finish(const tw_neureka_bracketed_params *p, const TW_X *x, const int32_t *bias,
                                     const int32_t *add, const int8_t *plain, TW_Y *y, const uint8_t *made) {
  const tw_bracket k = {p, x, bias + 2 * p->filters, add, add + p->filters, plain, (uint8_t *)y};
  tw_bracket_all(&k, made);
}

#endif
