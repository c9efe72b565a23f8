/* y = clamp((x * mul + add + half) >> shift), per tensor or per channel; all cores together */
#include "requantshift.h"
#include "requantshift_few.h"

#ifndef TW_NAME
#define TW_NAME tw_requantshift_columns_i32_i8
#define TW_X int32_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "columns.h"
#include "requant_words.h"

#define TW_Y_SIGNED ((TW_Y)-1 < 0)
#define TW_LARGEST_X (sizeof(TW_X) == 1 ? 255u : sizeof(TW_X) == 2 ? 65535u : (uint32_t)INT32_MAX)

static inline TW_Y clipped(int32_t value, int32_t high) {
  return (TW_Y)(TW_Y_SIGNED ? tw_x_clip(value, high) : tw_x_clipu(value, high));
}

/* Elements that are `step` apart, requantised alike. */
static void run(const tw_columns *c, const tw_requant *exact, int32_t mul, int32_t add, const TW_X *x, TW_Y *y,
                int32_t count, int32_t step) {
  const int32_t factor = c->mul[0], summand = c->add[0], bound = c->bound, shift = c->shift, high = c->high;
  if (c->mode == TW_EXACT) {
    for (; count > 0; count--, x += step, y += step) *y = (TW_Y)tw_requantise_words(exact, *x, mul, add);
  } else if (c->mode == TW_HIGH) {
    for (; count > 0; count--, x += step, y += step) {
      const int32_t product = (int32_t)((int64_t)*x * factor >> 32);
      *y = clipped(tw_x_addn(product, (uint32_t)summand, (uint32_t)shift), high);
    }
  } else {
    for (; count >= 2; count -= 2, x += 2 * step, y += 2 * step) {
      const int32_t first = tw_x_clip(x[0], bound), second = tw_x_clip(x[step], bound);
      y[0] = clipped(tw_x_mac(summand, first, factor) >> shift, high);
      y[step] = clipped(tw_x_mac(summand, second, factor) >> shift, high);
    }
    if (count > 0) *y = clipped(tw_x_mac(summand, tw_x_clip(*x, bound), factor) >> shift, high);
  }
}

static void choose(tw_columns *c, const tw_requant *r, const int32_t *mul, const int32_t *add) {
  tw_columns_plain(c);
  tw_columns_choose(c, r, mul, 0, add, 0, TW_LARGEST_X, TW_Y_SIGNED);
}

static inline void run_few(const tw_requantshift_params *p, const TW_X *x, const int32_t *mul, const int32_t *add,
                           TW_Y *y, tw_share share) {
  const tw_requant r = p->requant;
  for (int32_t o = 0; o < p->outer; o++, x += r.channels * p->inner, y += r.channels * p->inner) {
    int32_t at = share.first * p->inner;
    for (int32_t channel = share.first; channel < share.end; channel++) {
      for (int32_t i = 0; i < p->inner; i++, at++) y[at] = (TW_Y)tw_requantise_words(&r, x[at], mul[channel], add[channel]);
    }
  }
}

/* One value for all: each core takes a run of elements. Else each takes some channels. */
void TW_NAME(const tw_requantshift_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  const tw_requant *const r = &params->requant;
  const int32_t channels = r->channels, inner = params->inner, outer = params->outer;
  tw_columns columns;
  if (channels == 1) {
    const tw_share share = tw_share_in_blocks(outer * inner, 4);
    choose(&columns, r, mul, add);
    run(&columns, r, mul[0], add[0], x + share.first, y + share.first, share.end - share.first, 1);
    return;
  }
  const tw_share share = tw_share_of(channels);
  if (outer * inner < TW_FEW) {
    run_few(params, x, mul, add, y, share);
    return;
  }
  for (int32_t channel = share.first; channel < share.end; channel++) {
    choose(&columns, r, mul + channel, add + channel);
    if (inner == 1) {
      run(&columns, r, mul[channel], add[channel], x + channel, y + channel, outer, channels);
      continue;
    }
    for (int32_t o = 0; o < outer; o++) {
      const int32_t at = (o * channels + channel) * inner;
      run(&columns, r, mul[channel], add[channel], x + at, y + at, inner, 1);
    }
  }
}
