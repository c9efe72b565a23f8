/* y = clamp(round((x * mul + add) / 2^shift) + zero_point) of bytes, per tensor or per channel; all cores together. Sums have
 * 40 bits, which doubles hold, and a product of doubles takes one cycle. */
#include "requantshift.h"

#ifndef TW_NAME
#define TW_NAME tw_requantshift_doubles_i8_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"

/* The streams are the elements, factors and summands. */
#define TW_BLOCK_STEPS                                                  \
  TW_ALL_EIGHT("x3", "fmadd.d f8, ft0, ft1, ft2")                       \
  TW_ALL_EIGHT("x7", "fadd.d f8, f8, ft7")
#include "byte_blocks.h"

#define RUN TW_DOUBLES_RUN

/* Halves go up where they would go to the even neighbour otherwise: by less than the smallest difference. */
static void fill(const tables *t, const tw_requant *r, const int32_t *mul, const int32_t *add) {
  const double unit = tw_power(-r->shift), tie = r->rounding == TW_HALF_EVEN ? 0.0 : unit * 0.5;
  const tw_share channels = tw_share_of(r->channels);
  for (int32_t i = channels.first; i < channels.end; i++) {
    t->factor[i] = (double)mul[i] * unit;
    t->summand[i] = (double)add[i] * unit + tie - t->factor[i] * OFFSET;
  }
  for (int32_t i = 0; i < RUN; i++) t->row[i] = BASE;
}

/* Some neighbours whose factors and summands lie `step` bytes apart: 0 or 8. */
static void run(const tables *t, const tw_requant *r, const TW_X *x, int32_t channel, int32_t step, TW_Y *y, int32_t count) {
  const int32_t blocks = count / BLOCK;
  spread_bytes(t->row, x, count);
  if (blocks > 0) {
    const double last = TW_ROUNDER + (double)zero_in_sums(r);
    tw_stream_repeat(0, 1);
    tw_stream_repeat(1, 1);
    tw_stream_repeat(2, 1);
    tw_stream_loop(0, 0, BLOCK * blocks, 8);
    tw_stream_loop(1, 0, BLOCK * blocks, step);
    tw_stream_loop(2, 0, BLOCK * blocks, step);
    tw_stream_read(0, 1, t->row);
    tw_stream_read(1, 1, t->factor + channel);
    tw_stream_read(2, 1, t->summand + channel);
    __asm__ volatile("fld ft7, 0(%0)" : : "r"(&last) : "ft7", "memory");
    tw_streams_on();
    scale_blocks(r, t->results, y, blocks);
    tw_streams_off();
  }
  for (int32_t i = BLOCK * blocks; i < count; i++) {
    const int32_t at = step ? channel + i : channel;
    t->results[0] = tw_fma(t->row[i], t->factor[at], t->summand[at]) + TW_ROUNDER;
    y[i] = (TW_Y)clipped(r, tw_rounded(t->results));
  }
}

static inline int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

void TW_NAME(const tw_requantshift_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y,
             void *scratch) {
  const tw_requant r = params->requant;
  const int32_t inner = params->inner, channels = r.channels;
  const tables t = tables_in(scratch, channels, RUN);
  const tw_share share = tw_share_in_blocks(params->outer * channels * inner, BLOCK);
  fill(&t, &r, mul, add);
  tw_barrier();
  for (int32_t at = share.first, count; at < share.end; at += count) {
    const int32_t row = at / inner, channel = row % channels;
    const int32_t left = inner == 1 ? channels - channel : inner - at % inner;
    count = least(least(share.end - at, left), RUN);
    run(&t, &r, x + at, channel, inner == 1 ? 8 : 0, y + at, count);
  }
}
