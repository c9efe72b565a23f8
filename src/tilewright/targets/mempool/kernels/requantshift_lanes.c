/* y = clamp(round((x * mul + add) / 2^shift) + zero_point) to bytes, per tensor or per channel; all cores together */
#include "requantshift.h"

#ifndef TW_NAME
#define TW_NAME tw_requantshift_lanes_i32_i8
#define TW_X int32_t
#define TW_Y int8_t
#endif

#include "byte_words.h"
#include "requant_words.h"
#include "shifted_word.h"

/* A product of 32 bits; one of 64 whose ties go up; all others. */
typedef enum { NATIVE, WIDE, EXACT } way;

static way way_of(const tw_requant *r) {
  if (r->rounding == TW_NATIVE) return NATIVE;
  return r->rounding == TW_HALF_UP && r->shift > 0 && r->shift < 32 ? WIDE : EXACT;
}

static inline __attribute__((always_inline)) int32_t one(const tw_requant *r, way by, int32_t x, int32_t mul, int32_t add) {
  if (by == EXACT) return tw_requantise_words(r, x, mul, add);
  const int32_t shift = r->shift;
  if (by == NATIVE) {
    const uint32_t offset = ((uint32_t)r->zero_point << shift) + ((1u << shift) >> 1);
    return tw_within(r, tw_x_mac((int32_t)((uint32_t)add + offset), x, mul) >> shift);
  }
  const int64_t offset = ((int64_t)r->zero_point << shift) + (int64_t)((1u << shift) >> 1);
  return tw_within(r, tw_shifted_word((int64_t)x * mul + add + offset, shift));
}

/* Some neighbours, whose factors and summands lie `step` apart: 0 or 1. */
static inline __attribute__((always_inline)) void run(const tw_requant *r, way by, const TW_X *x, const int32_t *mul,
                                                      const int32_t *add, int32_t step, TW_Y *y, int32_t count) {
  for (; count >= 4; count -= 4, x += 4, y += 4, mul += 4 * step, add += 4 * step) {
    const TW_X x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
    const int32_t y0 = one(r, by, x0, mul[0], add[0]), y1 = one(r, by, x1, mul[step], add[step]);
    const int32_t y2 = one(r, by, x2, mul[2 * step], add[2 * step]), y3 = one(r, by, x3, mul[3 * step], add[3 * step]);
    y[0] = (TW_Y)y0, y[1] = (TW_Y)y1, y[2] = (TW_Y)y2, y[3] = (TW_Y)y3;
  }
  for (; count > 0; count--, mul += step, add += step) *y++ = (TW_Y)one(r, by, *x++, *mul, *add);
}

#define DEFINE_RUN(NAME, WAY)                                                                                       \
  static __attribute__((noinline)) void NAME(const tw_requant *r, const TW_X *x, const int32_t *mul, const int32_t *add, \
                                             int32_t step, TW_Y *y, int32_t count) {                                \
    const tw_requant own = *r;                                                                                      \
    const int32_t one_mul = *mul, one_add = *add;                                                                   \
    if (step) {                                                                                                     \
      run(&own, WAY, x, mul, add, 1, y, count);                                                                     \
    } else {                                                                                                        \
      run(&own, WAY, x, &one_mul, &one_add, 0, y, count);                                                           \
    }                                                                                                               \
  }
DEFINE_RUN(native_run, NATIVE)
DEFINE_RUN(wide_run, WIDE)
DEFINE_RUN(exact_run, EXACT)

void TW_NAME(const tw_requantshift_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  const int32_t inner = params->inner, channels = params->requant.channels, is_last = inner == 1 && channels > 1;
  const int32_t all = params->outer * inner * channels;
  const int32_t length = is_last ? channels : channels > 1 ? inner : all; /* of a run with one step */
  const tw_share mine = tw_share_in_blocks(all, 4);
  const way by = way_of(&params->requant);
  if (mine.first >= mine.end) return;
  int32_t number = mine.first / length, at = mine.first - number * length, channel = is_last ? 0 : number % channels;
  for (int32_t i = mine.first; i < mine.end; at = 0) {
    const int32_t count = tw_min(length - at, mine.end - i), first = is_last ? at : channel;
    (by == NATIVE ? native_run : by == WIDE ? wide_run : exact_run)(&params->requant, x + i, mul + first, add + first, is_last,
                                                                    y + i, count);
    i += count;
    if (!is_last && ++channel == channels) channel = 0;
  }
}
