/* What becomes of the sums of a tile: an item ends some rows of four neighbouring columns. */
#ifndef TW_GPU_TILE_END_H
#define TW_GPU_TILE_END_H

#if TW_X_IS_FLOAT
#include "gpu_stored.h"
#else
#include "gpu_requant.h"
#endif

/* What its columns have in common. It is read before there are sums, unless their factors need all registers. */
#if TW_X_IS_HALF || (!TW_X_IS_FLOAT && TW_SLICES == 1)
#define TW_READS_EARLY 1
#else
#define TW_READS_EARLY 0
#endif

typedef struct {
  TW_BIAS bias[4];
#if !TW_X_IS_FLOAT
  int32_t mul[4], add[4];
#endif
} tw_columns;

/* A column, or the last one beyond it: so that all four are read at once. */
TW_GPU int32_t tw_there(const tw_params *p, int32_t column) { return column < p->columns ? column : p->columns - 1; }

/* Whether four neighbours of a row lie at a multiple of their size, and all of them are there. */
TW_GPU int32_t tw_are_four(const tw_params *p) { return !((p->columns | p->y_row) & 3); }

typedef struct {
  TW_R at[4];
} __attribute__((aligned(4 * sizeof(TW_R)), may_alias)) tw_four_added;

/* What is added to four neighbours: it is on its way while their sums are joined. */
TW_GPU tw_four_added tw_read_added(const tw_params *p, const tw_pointers *at, int32_t row, int32_t column) {
  const TW_R *const r = at->r + (int64_t)row * p->y_row + column;
  tw_four_added added;
  if (tw_are_four(p)) return *(const tw_four_added *)r;
  TW_UNROLL for (int32_t i = 0; i < 4; i++) added.at[i] = column + i < p->columns ? r[i] : 0;
  return added;
}

#if TW_X_IS_FLOAT

typedef struct {
  TW_Y at[4];
} __attribute__((aligned(4 * sizeof(TW_Y)), may_alias)) tw_four_results;

/* As tw_activate does, without a table of jumps. */
TW_GPU void tw_activate_four(const tw_activation *activation, float *total) {
#ifdef TW_CURVE
  tw_activate(activation, total, 4, 1);
#else
  const tw_activation a = *activation;
  if (a.kind == TW_CLAMP) {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) total[i] = tw_activated(TW_CLAMP, a.alpha, a.beta, total[i]);
  } else if (a.kind) {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) total[i] = tw_activated(a.kind, a.alpha, a.beta, total[i]);
  }
#endif
}

TW_GPU void tw_add_four(const tw_params *p, const tw_four_added *added, float *total) {
  const tw_activation then = p->then;
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    total[i] += TW_R_LOAD(added->at[i]);
    if (then.kind) total[i] = tw_activated(then.kind, then.alpha, then.beta, total[i]);
  }
}

#else

/* As qlinearadd.c adds bytes, whose sums fit 32 bits. */
TW_GPU int32_t tw_add_byte(const tw_byte_sum *sum, int32_t y, int32_t r) {
  const int32_t shift = sum->requant.shift, half = shift > 0 ? 1 << (shift - 1) : 0;
  const int32_t total = y * sum->mul_y + r * sum->mul_r + sum->offset;
  const int32_t is_even = sum->requant.rounding == TW_HALF_EVEN && shift > 0 && !((total >> shift) & 1);
  const int32_t value = ((total + half - is_even) >> shift) + sum->requant.zero_point;
  return value < sum->requant.low ? sum->requant.low : value > sum->requant.high ? sum->requant.high : value;
}

#endif

/* Of a bias, a row for all rows. */
TW_GPU void tw_read_columns(tw_columns *columns, const tw_params *p, const tw_pointers *at, int32_t column) {
  TW_UNROLL for (int32_t i = 0; i < 4; i++) columns->bias[i] = 0;
  if (at->bias && !p->bias_row) {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) columns->bias[i] = at->bias[tw_there(p, column + i) * p->bias_column];
  }
#if !TW_X_IS_FLOAT
  TW_UNROLL for (int32_t i = 0; i < 4; i++) columns->mul[i] = columns->add[i] = 0;
  if (p->requantised) {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) columns->mul[i] = at->mul[tw_there(p, column + i) * p->mul_step];
  }
  if (p->requantised && at->add) {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) columns->add[i] = at->add[tw_there(p, column + i) * p->add_step];
  }
#endif
}

/* The bias of four neighbours, where every row has one of its own. */
TW_GPU void tw_read_late(tw_columns *columns, const tw_params *p, const tw_pointers *at, int32_t row, int32_t column) {
  if (!TW_READS_EARLY) tw_read_columns(columns, p, at, column);
  if (at->bias && p->bias_row) {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) {
      columns->bias[i] = at->bias[row * p->bias_row + tw_there(p, column + i) * p->bias_column];
    }
  }
}

/* Four neighbours of a row, from sums to results; `added` counts where there is an r. */
TW_GPU void tw_end(const tw_params *p, const tw_pointers *at, const tw_columns *columns, int32_t row, int32_t column,
                   total_t *total, const tw_four_added *added) {
  const int64_t first = (int64_t)row * p->y_row + column;
  TW_Y *const y = at->y + first;
#if TW_X_IS_FLOAT
  TW_UNROLL for (int32_t i = 0; i < 4; i++) total[i] += columns->bias[i];
  tw_activate_four(&p->activation, total);
  if (at->r) tw_add_four(p, added, total);
  tw_four_results results;
  TW_UNROLL for (int32_t i = 0; i < 4; i++) results.at[i] = TW_Y_STORE(total[i]);
  if (tw_are_four(p)) {
    *(tw_four_results *)y = results;
    return;
  }
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    if (column + i < p->columns) y[i] = results.at[i];
  }
#else
  TW_Y results[4];
  TW_UNROLL for (int32_t i = 0; i < 4; i++) total[i] = (int32_t)((uint32_t)total[i] + (uint32_t)columns->bias[i]);
  if (p->requantised) tw_requantise_four(&p->requant, total, columns->mul, columns->add);
  TW_UNROLL for (int32_t i = 0; i < 4; i++) results[i] = (TW_Y)total[i];
  if (at->r) {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) {
      results[i] = (TW_Y)tw_add_byte(&p->sum, results[i], added->at[i]);
    }
  }
  if (sizeof(TW_Y) == 1 && tw_are_four(p)) {
    const uint32_t low = (uint8_t)results[0] | (uint32_t)(uint8_t)results[1] << 8;
    *(tw_word *)y = low | (uint32_t)(uint8_t)results[2] << 16 | (uint32_t)(uint8_t)results[3] << 24;
    return;
  }
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    if (column + i < p->columns) y[i] = results[i];
  }
#endif
}

#endif
