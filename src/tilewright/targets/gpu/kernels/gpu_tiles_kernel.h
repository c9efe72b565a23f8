/* A product tile by tile: a group makes TW_TM rows and TW_TN columns.
 *
 * Parts of rows of x and w, TW_ROW_BYTES each, go through TW_STAGES buffers in shared memory. Where there are too few
 * tiles to keep a GPU busy, `splits` groups share one: each leaves its sums in the scratch memory, and the last to come
 * adds them, always in the same order.
 * What is as large as the result and added to it, r, may be absent.
 * A kernel defines TW_X, TW_W (what is multiplied), TW_BIAS, TW_R, TW_Y, TW_WINDOWS (whether x is images) and TW_COPY_BYTES
 * (what is copied at once, 16 or 4: rows are multiples of it) before. */
#ifndef TW_GPU_TILES_KERNEL_H
#define TW_GPU_TILES_KERNEL_H

#define TW_GROUP_SIZE (32 * TW_WM * TW_WN)

#include "gpu_async.h"
#include "gpu_tiles.h"
#if TW_X_IS_FLOAT
#include "gpu_float_tile.h"
#else
#include "gpu_byte_tile.h"
#endif

typedef tw_gpu_tiles_params tw_params;
typedef struct {
  const TW_X *x;
  const TW_W *w;
  const TW_BIAS *bias;
  const int32_t *mul, *add;
  const TW_R *r;
  TW_Y *y;
  void *scratch;
} tw_pointers;

enum {
  TW_SIZE = sizeof(TW_X),
  TW_STEP = TW_ROW_BYTES / TW_SIZE, /* elements */
  TW_X_TILE = TW_TM * TW_ROW_BYTES,
  TW_STAGE = (TW_TM + TW_TN) * TW_ROW_BYTES,
  /* An item copies one column of some rows. */
  TW_ACROSS = TW_ROW_BYTES / TW_COPY_BYTES,
  TW_BETWEEN = TW_GROUP_SIZE / TW_ACROSS,
  TW_X_COPIES = (TW_TM + TW_BETWEEN - 1) / TW_BETWEEN,
  TW_W_COPIES = (TW_TN + TW_BETWEEN - 1) / TW_BETWEEN,
  /* Rows of sums in shared memory, which are ended four neighbours at a time. */
  TW_SUMS_ROW = TW_TN + 4,
  TW_FOURS = TW_TM * TW_TN / 4,
  TW_STAGES_BYTES = TW_STAGE * TW_STAGES,
  TW_SUMS_BYTES = TW_TM * TW_SUMS_ROW * 4,
  TW_MOST_SHARED_TILES = 1024,
  TW_NOWHERE = -(1 << 15) /* the row of a window that is not there */
};

typedef struct {
  total_t at[4];
} __attribute__((aligned(16), may_alias)) tw_four_sums;

typedef total_t __attribute__((may_alias)) tw_total;

TW_GROUP_SHARED(tw_four_sums, tw_stages, [(TW_STAGES_BYTES > TW_SUMS_BYTES ? TW_STAGES_BYTES : TW_SUMS_BYTES) / 16]);
TW_GROUP_SHARED(int32_t, tw_is_last, [1]);

/* How many groups have left their sums of a tile; all zero between launches. */
static int32_t tw_arrived[TW_MOST_SHARED_TILES];

#ifdef TW_GPU_DEVICE
TW_GPU int32_t tw_one_more(int32_t *count) {
  int32_t before;
  __asm__ volatile("atom.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(count) : "memory");
  return before;
}
#define TW_EVERYBODY_SEES() __asm__ volatile("membar.gl;" ::: "memory")
#else
TW_GPU int32_t tw_one_more(int32_t *count) { return (*count)++; }
#define TW_EVERYBODY_SEES() ((void)0)
#endif

/* What an item reads of x: where the windows of its rows begin, and how far along them it is. */
typedef struct {
  int32_t corner[TW_X_COPIES]; /* row and column, 16 bits each; of matrices whether there is a row */
  int32_t offset[TW_X_COPIES];
  int32_t inner, channel, tap_x, tap_y;
} tw_reader;

TW_GPU void tw_start_reading(tw_reader *reader, const tw_params *p, int32_t t, int32_t first_row, int32_t inner) {
  TW_UNROLL for (int32_t i = 0; i < TW_X_COPIES; i++) {
    const int32_t within = t / TW_ACROSS + i * TW_BETWEEN, row = first_row + within;
    const int32_t is_there = within < TW_TM && row < p->rows;
#if TW_WINDOWS
    const int32_t image = row / (p->out_h * p->out_w), pixel = row % (p->out_h * p->out_w);
    const int32_t top = is_there ? pixel / p->out_w * p->stride_h - p->pad_top : TW_NOWHERE;
    const int32_t left = pixel % p->out_w * p->stride_w - p->pad_left;
    reader->corner[i] = (int32_t)((uint32_t)top << 16 | ((uint32_t)left & 0xffff));
    reader->offset[i] = is_there ? ((image * p->in_h + top) * p->in_w + left) * p->x_row : 0;
#else
    reader->corner[i] = is_there;
    reader->offset[i] = is_there ? row * p->x_row : 0;
#endif
  }
  reader->inner = inner + t % TW_ACROSS * (TW_COPY_BYTES / TW_SIZE);
#if TW_WINDOWS
  const int32_t tap = reader->inner / p->channels;
  reader->channel = reader->inner - tap * p->channels;
  reader->tap_y = tap / p->kernel_w;
  reader->tap_x = tap % p->kernel_w;
#endif
}

TW_GPU void tw_read_on(tw_reader *reader, const tw_params *p) {
  reader->inner += TW_STEP;
#if TW_WINDOWS
  reader->channel += TW_STEP;
  while (reader->channel >= p->channels) {
    reader->channel -= p->channels;
    if (++reader->tap_x == p->kernel_w) {
      reader->tap_x = 0;
      reader->tap_y++;
    }
  }
#else
  (void)p;
#endif
}

TW_GPU void tw_copy(TW_LOCAL uint8_t *to, const void *from, int32_t valid) {
#if TW_COPY_BYTES == 16
  tw_copy_16(to, from, valid);
#else
  tw_copy_4(to, from, valid);
#endif
}

/* Padding of integers is their zero point. */
TW_GPU void tw_copy_padded(TW_LOCAL uint8_t *to, const void *from, int32_t valid, int32_t zero) {
#if TW_WINDOWS && !TW_X_IS_FLOAT
  if (!valid && zero) {
    const uint32_t zeros = (uint32_t)(zero & 255) * 0x01010101u;
    TW_UNROLL for (int32_t i = 0; i < TW_COPY_BYTES; i += 4) *(TW_LOCAL tw_word *)(to + i) = zeros;
    return;
  }
#else
  (void)zero;
#endif
  tw_copy(to, from, valid);
}

TW_GPU void tw_load_x(TW_LOCAL uint8_t *tile, tw_reader *reader, const tw_params *p, const TW_X *x, int32_t t) {
  const int32_t byte = t % TW_ACROSS * TW_COPY_BYTES, is_within = reader->inner < p->inner;
#if TW_WINDOWS
  const int32_t down = reader->tap_y * p->dilation_h, right = reader->tap_x * p->dilation_w;
  const int32_t further = (down * p->in_w + right) * p->x_row + reader->channel;
#else
  const int32_t further = reader->inner;
#endif
  TW_UNROLL for (int32_t i = 0; i < TW_X_COPIES; i++) {
    const int32_t row = t / TW_ACROSS + i * TW_BETWEEN;
#if TW_WINDOWS
    const int32_t in_y = (reader->corner[i] >> 16) + down, in_x = (int16_t)reader->corner[i] + right;
    const int32_t valid = is_within && (uint32_t)in_y < (uint32_t)p->in_h && (uint32_t)in_x < (uint32_t)p->in_w;
#else
    const int32_t valid = is_within && reader->corner[i];
#endif
    if (row < TW_TM) {
      tw_copy_padded(tile + tw_place(row, byte), valid ? x + reader->offset[i] + further : x, valid, p->x_zero);
    }
  }
  tw_read_on(reader, p);
}

TW_GPU void tw_load_w(TW_LOCAL uint8_t *tile, const tw_params *p, const TW_W *w, int32_t first_column, int32_t inner,
                      int32_t t) {
  const int32_t byte = t % TW_ACROSS * TW_COPY_BYTES, at = inner + byte / TW_SIZE;
  TW_UNROLL for (int32_t i = 0; i < TW_W_COPIES; i++) {
    const int32_t row = t / TW_ACROSS + i * TW_BETWEEN, valid = first_column + row < p->columns && at < p->inner;
    const TW_W *const from = valid ? w + (int64_t)(first_column + row) * p->w_row + at : w;
    if (row < TW_TN) tw_copy(tile + tw_place(row, byte), from, valid);
  }
}

/* Whether four neighbours of a row lie at a multiple of their size, and all of them are there. */
TW_GPU int32_t tw_are_four(const tw_params *p) { return !((p->columns | p->y_row) & 3); }

#if TW_X_IS_FLOAT

/* r is added to four neighbours. */
TW_GPU void tw_add_four(const tw_params *p, const TW_R *r, int32_t column, float *total) {
  const tw_activation then = p->then;
  tw_four_sums added;
  if (tw_are_four(p)) {
    added = *(const tw_four_sums *)r;
  } else {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) added.at[i] = column + i < p->columns ? r[i] : 0.0f;
  }
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    total[i] += added.at[i];
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

/* Four neighbours of a row, from sums to results. */
TW_GPU void tw_end(const tw_params *p, const tw_pointers *at, int32_t row, int32_t column, total_t *total) {
  const int64_t first = (int64_t)row * p->y_row + column;
  TW_Y *const y = at->y + first;
#if TW_X_IS_FLOAT
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    if (at->bias && column + i < p->columns) total[i] += at->bias[row * p->bias_row + (column + i) * p->bias_column];
  }
  tw_activate(&p->activation, total, 4, 1);
  if (at->r) tw_add_four(p, at->r + first, column, total);
  if (tw_are_four(p)) {
    *(tw_four_sums *)y = *(const tw_four_sums *)total;
    return;
  }
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    if (column + i < p->columns) y[i] = total[i];
  }
#else
  TW_Y results[4];
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    const int32_t c = column + i < p->columns ? column + i : column;
    const uint32_t bias = at->bias ? (uint32_t)at->bias[row * p->bias_row + c * p->bias_column] : 0;
    const int32_t sum = (int32_t)((uint32_t)total[i] + bias);
    if (p->requantised) {
      const int32_t summand = at->add ? at->add[c * p->add_step] : 0;
      results[i] = (TW_Y)tw_requantise(&p->requant, sum, at->mul[c * p->mul_step], summand);
    } else {
      results[i] = (TW_Y)sum;
    }
  }
  if (at->r) {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) {
      const int32_t added = column + i < p->columns ? at->r[first + i] : 0;
      results[i] = (TW_Y)tw_add_byte(&p->sum, results[i], added);
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

static inline tw_grid grid(const tw_params *p) {
  const tw_grid groups = {(p->rows + TW_TM - 1) / TW_TM, (p->columns + TW_TN - 1) / TW_TN, p->splits};
  return groups;
}

/* All sums of a part of the inner dimension, to shared memory. */
TW_GPU void tw_sum_up(const tw_params *p, const tw_pointers *at, int32_t first_row, int32_t first_column,
                      int32_t part) {
  TW_LOCAL uint8_t *const stages = (TW_LOCAL uint8_t *)tw_stages;
  TW_ITEM_OWN(total_t, total, [TW_SUMS]);
  TW_ITEM_OWN(tw_reader, reader, [1]);
#if !TW_X_IS_FLOAT
  TW_ITEM_OWN(total_t, factors, [TW_FACTOR_SUMS]);
#endif
  const int32_t all_steps = (p->inner + TW_STEP - 1) / TW_STEP, start = part * p->steps;
  const int32_t steps = start + p->steps < all_steps ? p->steps : all_steps - start;
  TW_ITEMS(t) {
    tw_start_reading(reader[TW_OWN(t)], p, t, first_row, start * TW_STEP);
    TW_UNROLL for (int32_t i = 0; i < TW_SUMS; i++) total[TW_OWN(t)][i] = 0;
#if !TW_X_IS_FLOAT
    TW_UNROLL for (int32_t i = 0; i < TW_FACTOR_SUMS; i++) factors[TW_OWN(t)][i] = 0;
#endif
    for (int32_t stage = 0; stage < TW_STAGES - 1; stage++) {
      if (stage < steps) {
        tw_load_w(stages + stage * TW_STAGE + TW_X_TILE, p, at->w, first_column, (start + stage) * TW_STEP, t);
        tw_load_x(stages + stage * TW_STAGE, reader[TW_OWN(t)], p, at->x, t);
      }
      tw_copies_commit();
    }
  }
  int32_t reading = 0, writing = TW_STAGES - 1;
  for (int32_t step = 0; step < steps; step++) {
    tw_copies_pending(TW_STAGES - 2);
    TW_MEET();
    TW_ITEMS(t) {
      const int32_t ahead = step + TW_STAGES - 1;
      if (ahead < steps) {
        tw_load_w(stages + writing * TW_STAGE + TW_X_TILE, p, at->w, first_column, (start + ahead) * TW_STEP, t);
        tw_load_x(stages + writing * TW_STAGE, reader[TW_OWN(t)], p, at->x, t);
      }
      tw_copies_commit();
    }
    TW_ITEMS(t) {
      const TW_LOCAL uint8_t *const stage = stages + reading * TW_STAGE;
#if TW_X_IS_FLOAT
      tw_multiply(total[TW_OWN(t)], stage, stage + TW_X_TILE, t);
#else
      tw_multiply(total[TW_OWN(t)], factors[TW_OWN(t)], p->x_zero, stage, stage + TW_X_TILE, t);
#endif
    }
    reading = reading + 1 == TW_STAGES ? 0 : reading + 1;
    writing = writing + 1 == TW_STAGES ? 0 : writing + 1;
  }
  tw_copies_pending(0);
  TW_MEET();
  TW_ITEMS(t) {
    TW_LOCAL tw_total *const sums = (TW_LOCAL tw_total *)tw_stages;
    TW_UNROLL for (int32_t i = 0; i < TW_SUMS; i++) {
      total_t sum = total[TW_OWN(t)][i];
#if !TW_X_IS_FLOAT
      sum -= p->x_zero * factors[TW_OWN(t)][i % TW_FACTOR_SUMS];
#endif
      sums[tw_sum_row(t, i) * TW_SUMS_ROW + tw_sum_column(t, i)] = sum;
    }
  }
}

/* Leaves the sums of a part for the group that comes last; whether it is this one. */
TW_GPU int32_t tw_left_sums(const tw_params *p, tw_four_sums *shares, int32_t tile, int32_t part) {
  TW_ITEMS(t) {
    for (int32_t four = t; four < TW_FOURS; four += TW_GROUP_SIZE) {
      shares[part * TW_FOURS + four] = tw_stages[(four / (TW_TN / 4) * TW_SUMS_ROW + four % (TW_TN / 4) * 4) / 4];
    }
  }
  TW_EVERYBODY_SEES();
  TW_MEET();
  TW_ITEMS(t) {
    if (t == 0) {
      tw_is_last[0] = tw_one_more(&tw_arrived[tile]) == p->splits - 1;
      if (tw_is_last[0]) tw_arrived[tile] = 0;
    }
  }
  TW_MEET();
  TW_EVERYBODY_SEES();
  return tw_is_last[0];
}

TW_GPU void tw_tiles(const tw_params *p, const tw_pointers *at) {
  const int32_t first_row = TW_GROUP_X * TW_TM, first_column = TW_GROUP_Y * TW_TN;
  const int32_t tile = TW_GROUP_Y * TW_GROUPS_X + TW_GROUP_X;
  tw_four_sums *const shares = (tw_four_sums *)at->scratch + (int64_t)tile * p->splits * TW_FOURS;
  tw_sum_up(p, at, first_row, first_column, TW_GROUP_Z);
  TW_MEET();
  if (p->splits > 1 && !tw_left_sums(p, shares, tile, TW_GROUP_Z)) return;
  TW_ITEMS(t) {
    for (int32_t four = t; four < TW_FOURS; four += TW_GROUP_SIZE) {
      const int32_t row = four / (TW_TN / 4), column = four % (TW_TN / 4) * 4;
      if (first_row + row < p->rows && first_column + column < p->columns) {
        tw_four_sums sum = tw_stages[(row * TW_SUMS_ROW + column) / 4];
        if (p->splits > 1) {
          sum = shares[four];
          for (int32_t part = 1; part < p->splits; part++) {
            const tw_four_sums share = shares[part * TW_FOURS + four];
            TW_UNROLL for (int32_t i = 0; i < 4; i++) sum.at[i] += share.at[i];
          }
        }
        tw_end(p, at, first_row + row, first_column + column, sum.at);
      }
    }
  }
}

#endif
