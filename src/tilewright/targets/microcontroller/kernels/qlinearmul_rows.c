/* y = requant((a - a_zero) * (b - b_zero) * mul + add) of bytes, broadcast: products are totals of a layer with one filter,
 * requantised by the shortest way that it allows. */
#include "qlinearmul.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearmul_rows
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "binary_kernel.h"
#include "full_range.h"
#include "requant_row.h"

enum { TW_AT_A_TIME = 4 };

/* A row whose second operand is the same for all elements, or has elements beside the first one's. */
typedef struct {
  const TW_A *a;
  const TW_B *b;
  int32_t step_a, step_b, a_zero, b_zero, count;
} operands;

/* The upper word of a product decides, and results have all values of a byte. */
TW_ALWAYS TW_Y by_upper_word(const tw_factor *f, int32_t product) {
  const int32_t sum = tw_upper(product, f->mul) + f->addend;
  return TW_OWN_CLIP ? (TW_Y)tw_shifted(f, sum) : tw_to_byte(sum >> f->shift);
}

TW_ALWAYS void upper_row(const tw_factor *factor, const operands *row, int is_fixed, TW_Y *y) {
  const tw_factor f = *factor;
  const TW_A *a = row->a;
  const TW_B *b = row->b;
  const int32_t a_zero = row->a_zero, b_zero = row->b_zero, fixed = *b - b_zero, start = -a_zero * fixed;
  int32_t count = row->count;
#define TW_PRODUCT(i) (is_fixed ? a[i] * fixed + start : (a[i] - a_zero) * (b[i] - b_zero))
  for (; count >= TW_AT_A_TIME; count -= TW_AT_A_TIME, a += TW_AT_A_TIME, y += TW_AT_A_TIME) {
    const int32_t p0 = TW_PRODUCT(0), p1 = TW_PRODUCT(1), p2 = TW_PRODUCT(2), p3 = TW_PRODUCT(3);
    const TW_Y y0 = by_upper_word(&f, p0), y1 = by_upper_word(&f, p1), y2 = by_upper_word(&f, p2);
    const TW_Y y3 = by_upper_word(&f, p3);
    y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;
    if (!is_fixed) b += TW_AT_A_TIME;
  }
  for (; count > 0; count--, a++) {
    *y++ = by_upper_word(&f, TW_PRODUCT(0));
    if (!is_fixed) b++;
  }
#undef TW_PRODUCT
}

static __attribute__((noinline)) void upper_fixed(const tw_factor *f, const operands *row, TW_Y *y) {
  upper_row(f, row, 1, y);
}

static __attribute__((noinline)) void upper_beside(const tw_factor *f, const operands *row, TW_Y *y) {
  upper_row(f, row, 0, y);
}

/* By any other way. */
static __attribute__((noinline)) void any_row(tw_way way, const tw_requant *r, const tw_factor *factor,
                                              const operands *row, TW_Y *y) {
  const TW_A *a = row->a;
  const TW_B *b = row->b;
  int32_t total[TW_AT_A_TIME];
  for (int32_t left = row->count, now; left > 0; left -= now, y += now) {
    now = tw_min(left, TW_AT_A_TIME);
    for (int32_t i = 0; i < now; i++, a += row->step_a, b += row->step_b) {
      total[i] = (*a - row->a_zero) * (*b - row->b_zero);
    }
    if (now == TW_AT_A_TIME) {
      tw_requantise_row(way, r, factor, total, y, TW_AT_A_TIME);
    } else {
      for (int32_t i = 0; i < now; i++) tw_requantise_row(way, r, factor, total + i, y + i, 1);
    }
  }
}

/* Whether no product of bytes, which are below 2^16 in size, is halfway between two results. */
static int never_ties(const tw_requant *r, int32_t mul) {
  if (r->rounding == TW_HALF_UP) return 1;
  return mul != 0 && r->shift - 1 - __builtin_ctz((uint32_t)mul) > 16;
}

void TW_NAME(const tw_qlinearmul_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const tw_binary_params *const loops = &params->loops;
  const tw_requant *const r = &params->requant;
  const int32_t last = loops->rank - 1, count = loops->size[last], add = params->add;
  const tw_way way = tw_way_of(1, r, add || TW_IS_TFLITE(r) ? &add : 0, 0, 1, 1);
  const tw_factor factor = tw_factor_of(way, r, params->mul, add);
  const int by_upper = way == TW_FAR && tw_is_full_range(r) && never_ties(r, params->mul);
  operands row = {a, b, loops->stride_a[last], loops->stride_b[last], params->a_zero, params->b_zero, count};
  int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;
  if (count == 0) return;
  do {
    row.a = a + offset_a, row.b = b + offset_b;
    if (by_upper && row.step_a == 1 && row.step_b == 0) {
      upper_fixed(&factor, &row, y);
    } else if (by_upper && row.step_a == 1 && row.step_b == 1) {
      upper_beside(&factor, &row, y);
    } else {
      any_row(way, r, &factor, &row, y);
    }
    y += count;
  } while (tw_binary_next_row(loops, at, &offset_a, &offset_b));
}
