/* dot.h for other processors than Arm's with sdot: products by what the processor has, all else in plain C, of which
 * compilers make vectors. */
#ifndef TW_DOT_PORTABLE_H
#define TW_DOT_PORTABLE_H

#include "requant.h"

#define TW_COLUMNS (TW_VECTOR_BYTES / 2)
#define TW_STEP (4 * TW_COLUMNS) /* bytes of a four of weights */

/* A row of totals. */
typedef struct {
  int32_t v[TW_COLUMNS];
} tw_sums;

TW_ALWAYS tw_sums tw_sums_load(const int32_t *from) {
  tw_sums made;
  memcpy(made.v, from, sizeof made.v);
  return made;
}

TW_ALWAYS void tw_sums_store(int32_t *to, tw_sums sums) { memcpy(to, sums.v, sizeof sums.v); }

TW_ALWAYS tw_sums tw_sums_plus(tw_sums sums, int32_t term) {
  for (int c = 0; c < TW_COLUMNS; c++) sums.v[c] += term;
  return sums;
}

TW_ALWAYS tw_sums tw_sums_of(int32_t value) {
  tw_sums made;
  for (int c = 0; c < TW_COLUMNS; c++) made.v[c] = value;
  return made;
}

TW_ALWAYS tw_sums tw_sums_added(tw_sums a, tw_sums b) {
  for (int c = 0; c < TW_COLUMNS; c++) a.v[c] += b.v[c];
  return a;
}

/* Less so many times the others. */
TW_ALWAYS tw_sums tw_sums_less(tw_sums sums, tw_sums others, int32_t times) {
  for (int c = 0; c < TW_COLUMNS; c++) sums.v[c] -= times * others.v[c];
  return sums;
}

/* Sums of products of the bytes of x with those of each of some rows. */
TW_ALWAYS tw_sums tw_dots(const int8_t *x, int flip_x, const int8_t *const *rows, int flip, int32_t count) {
  tw_sums made;
  for (int c = 0; c < TW_COLUMNS; c++) {
    const int8_t *const row = rows[c];
    int32_t sum = 0;
    for (int32_t i = 0; i < count; i++) sum += (int8_t)(x[i] ^ flip_x) * (int8_t)(row[i] ^ flip);
    made.v[c] = sum;
  }
  return made;
}

#if defined(TW_DOT_WIDENING)
#include "multiply_widening.h"
#else

/* Four taps of two rows of channels: [channel][tap]. */
typedef struct {
  int8_t v[2 * TW_COLUMNS][4];
} tw_taps;

TW_ALWAYS tw_taps tw_taps_load(const int8_t *from) {
  tw_taps made;
  memcpy(made.v, from, sizeof made.v);
  return made;
}

/* Each of the two rows elsewhere. */
TW_ALWAYS void tw_taps_store(tw_taps taps, int8_t *first, int8_t *second) {
  memcpy(first, taps.v, sizeof taps.v / 2);
  memcpy(second, taps.v + TW_COLUMNS, sizeof taps.v / 2);
}

/* Of TW_COLUMNS or twice as many channels. */
TW_ALWAYS tw_taps tw_taps_of(int halves, const int8_t *const *x, int flip) {
  tw_taps made;
  for (int c = 0; c < halves * TW_COLUMNS; c++) {
    for (int k = 0; k < 4; k++) made.v[c][k] = (int8_t)(x[k][c] ^ flip);
  }
  return made;
}

/* The same four bytes for all channels. */
TW_ALWAYS tw_taps tw_taps_same(const int8_t *four, int flip) {
  tw_taps made;
  for (int c = 0; c < 2 * TW_COLUMNS; c++) {
    for (int k = 0; k < 4; k++) made.v[c][k] = (int8_t)(four[k] ^ flip);
  }
  return made;
}

#if defined(__x86_64__) || defined(TW_DOT_VNNI) || defined(TW_DOT_MADDUBS)
#include "multiply_x86.h"
#include "requant_x86.h"
#ifdef TW_HAS_TILES
#include "tiles_x86.h"
#endif
#else
#include "multiply_plain.h"
#endif

#endif

#define tw_multiply_sixteens tw_multiply

typedef struct {
  const tw_requant *requant;
} tw_scaler;

TW_ALWAYS tw_scaler tw_scaler_of(const tw_requant *r) {
  const tw_scaler made = {r};
  return made;
}

/* What belongs to the channels of a row of totals. */
typedef struct {
  const int32_t *mul, *add;
} tw_factors;

TW_ALWAYS tw_factors tw_factors_of(const tw_scaler *s, const int32_t *mul, const int32_t *add) {
  const tw_factors made = {mul, add};
  (void)s;
  return made;
}

TW_ALWAYS uint8_t tw_limited(const tw_requant *r, int32_t value) {
  return (uint8_t)(value < r->low ? r->low : value > r->high ? r->high : value);
}

/* TW_NEAR_DOUBLE_WAY, TW_NEAR_DOUBLE_UP_WAY: without a branch, so that it is computed in vectors. */
TW_ALWAYS int32_t tw_scaled_double(tw_way way, int32_t total, int32_t mul, int32_t exponent) {
  const int32_t high = tw_high_product(total, mul), half = (int32_t)((1u << -exponent) >> 1);
  return (high + half - (way == TW_NEAR_DOUBLE_WAY && high < 0)) >> -exponent;
}

/* A row of bytes from a row of totals. */
TW_ALWAYS void tw_scale_row(tw_way way, const tw_scaler *s, const tw_factors *f, int is_unsigned, tw_sums sums,
                            void *y) {
  const tw_requant r = *s->requant;
  uint8_t *const to = y;
  (void)is_unsigned;
  if ((way == TW_NEAR_WAY || way == TW_HIGH_WAY) && !f->add) {
    const int64_t half = (int64_t)1 << (r.shift - 1);
    for (int i = 0; i < TW_COLUMNS; i++) {
      to[i] = tw_limited(&r, (int32_t)(((int64_t)sums.v[i] * f->mul[i] + half) >> r.shift) + r.zero_point);
    }
    return;
  }
  if (way == TW_NEAR_DOUBLE_WAY || way == TW_NEAR_DOUBLE_UP_WAY) {
    for (int i = 0; i < TW_COLUMNS; i++) {
      to[i] = tw_limited(&r, tw_scaled_double(way, sums.v[i], f->mul[i], f->add[i]) + r.zero_point);
    }
    return;
  }
  for (int i = 0; i < TW_COLUMNS; i++) {
    to[i] = (uint8_t)tw_requantise(&r, sums.v[i], f->mul[i], f->add ? f->add[i] : 0);
  }
}

/* Rows of bytes from rows of totals with the same factors, any way but TW_ANY_WAY. */
TW_ALWAYS void tw_scale_rows(tw_way way, int rows, const tw_scaler *s, const tw_factors *f, int is_unsigned,
                             const tw_sums *t, void *y, int64_t pitch) {
#if defined(TW_DOT_WIDENING)
  if (tw_is_widened(way, s->requant, f->add)) {
    tw_scale_widened(way, rows, s->requant, f->mul, f->add, t, y, pitch);
    return;
  }
#elif defined(TW_REQUANTS_IN_VECTORS)
  if (tw_is_scaled(way, s->requant, f->add)) {
    tw_scale_in_vectors(way, rows, s->requant, f->mul, f->add, is_unsigned, t, y, pitch);
    return;
  }
#endif
  for (int r = 0; r < rows; r++) tw_scale_row(way, s, f, is_unsigned, t[r], (uint8_t *)y + r * pitch);
}

/* Two neighbouring rows of channels. */
TW_ALWAYS void tw_scale_wide(tw_way way, const tw_scaler *s, const tw_factors *f, int is_unsigned, const tw_sums *t,
                             void *y) {
  tw_scale_rows(way, 1, s, f, is_unsigned, t, y, 0);
  tw_scale_rows(way, 1, s, f + 1, is_unsigned, t + 1, (uint8_t *)y + TW_COLUMNS, 0);
}

/* ---- bytes that are requantised once more ---- */

typedef struct {
  const tw_then *then;
} tw_then_scaler;

typedef struct {
  const int32_t *mul, *add;
} tw_then_factors;

TW_ALWAYS tw_then_scaler tw_then_scaler_of(const tw_requant *bytes, const tw_then *then) {
  const tw_then_scaler made = {then};
  (void)bytes;
  return made;
}

TW_ALWAYS tw_then_factors tw_then_factors_of(const tw_then_scaler *s, const int32_t *mul, const int32_t *add) {
  const tw_then_factors made = {mul, add};
  (void)s;
  return made;
}

TW_ALWAYS int32_t tw_byte(int is_unsigned, uint8_t byte) { return is_unsigned ? byte : (int8_t)byte; }

/* Rows of bytes from rows of totals, a way of which TW_IS_NEAR and then once more; rows of what is added lie as results do. */
TW_ALWAYS void tw_scale_twice(tw_way way, int rows, const tw_scaler *s, const tw_factors *f, const tw_then_scaler *then,
                              const tw_then_factors *again, int is_unsigned, const tw_sums *t, const void *added, void *y,
                              int64_t pitch) {
#if defined(TW_DOT_WIDENING)
  if (tw_is_widened(way, s->requant, f->add) && then->then->requant.shift < 32) {
    tw_scale_widened_twice(way, rows, s->requant, f->mul, f->add, then->then, again->mul, again->add, is_unsigned, t,
                           added, y, pitch);
    return;
  }
#endif
  const tw_requant r = then->then->requant;
  const int32_t factor = then->then->factor, half = 1 << (r.shift - 1);
  for (int row = 0; row < rows; row++) {
    uint8_t bytes[TW_COLUMNS], more[TW_COLUMNS] = {0}, *const to = (uint8_t *)y + row * pitch;
    tw_scale_row(way, s, f, is_unsigned, t[row], bytes);
    if (added) memcpy(more, (const uint8_t *)added + row * pitch, TW_COLUMNS);
    for (int i = 0; i < TW_COLUMNS; i++) {
      const int32_t sum = tw_byte(is_unsigned, bytes[i]) * again->mul[i] + tw_byte(is_unsigned, more[i]) * factor + again->add[i];
      to[i] = tw_limited(&r, ((sum + half) >> r.shift) + r.zero_point);
    }
  }
}

#endif
