/* A product tile by tile: a group makes TW_TM rows and TW_TN columns.
 *
 * Parts of rows of x and w, TW_ROW_BYTES each, go through TW_STAGES buffers in shared memory. TW_SLICES teams of items
 * have the whole tile each and a part of every row, so that an item has more sums of it. Where there are too few
 * tiles to keep a GPU busy, `splits` groups share one. A cluster's groups add their sums, each in its share of the tile;
 * where there are no clusters each leaves its sums in the scratch memory, and the last to come adds them. Both do so in
 * the same order, always.
 * A kernel defines TW_X, TW_W (what is multiplied), TW_BIAS, TW_R (what is as large as the result and added to it, or
 * absent), TW_Y, TW_WINDOWS (whether x is images) and TW_COPIED (bytes that are copied at once, 16, 8 or 4: rows are
 * multiples of it; or 0: an element) before. */
#ifndef TW_GPU_TILES_KERNEL_H
#define TW_GPU_TILES_KERNEL_H

#ifndef TW_SLICES
#define TW_SLICES 1
#endif
#ifdef TW_GPU_OPENCL
/* Copies are done at once: more buffers than two would be for nothing, and devices have little shared memory. */
#undef TW_STAGES
#define TW_STAGES 2
#endif
#define TW_TEAM (32 * TW_WM * TW_WN)
#define TW_GROUP_SIZE (TW_SLICES * TW_TEAM)
#define TW_STAGE ((TW_TM + TW_TN) * TW_ROW_BYTES)
/* Rows of sums in shared memory, which are ended four neighbours at a time. */
#define TW_SUMS_ROW (TW_TN + 4)
#define TW_SUMS_BYTES (TW_SLICES * TW_TM * TW_SUMS_ROW * 4)
#define TW_DYNAMIC_BYTES (TW_STAGE * TW_STAGES > TW_SUMS_BYTES ? TW_STAGE * TW_STAGES : TW_SUMS_BYTES)
#define TW_WAITS_ITSELF
#define TW_EARLY 30 /* w, bias, mul, add */
#define TW_CLUSTERED 1

#include "gpu.h"

TW_GPU int32_t tw_slice(int32_t t) { return t / TW_TEAM; }

#include "gpu_cluster.h"
#include "gpu_last_group.h"
#include "gpu_tiles.h"
#if TW_X_IS_HALF
#include "gpu_half_tile.h"
#elif TW_X_IS_FLOAT
#include "gpu_float_tile.h"
#else
#include "gpu_byte_tile.h"
#endif

/* Many small copies would be much code. */
#if TW_COPIED >= 8
#define TW_UNROLL_STAGES TW_UNROLL
#else
#define TW_UNROLL_STAGES
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
  /* An item copies one column of some rows. */
  TW_COPY_BYTES = TW_COPIED ? TW_COPIED : TW_SIZE,
  TW_ACROSS = TW_ROW_BYTES / TW_COPY_BYTES,
  TW_BETWEEN = TW_GROUP_SIZE / TW_ACROSS,
  TW_X_COPIES = (TW_TM + TW_BETWEEN - 1) / TW_BETWEEN,
  TW_W_COPIES = (TW_TN + TW_BETWEEN - 1) / TW_BETWEEN,
  TW_FOURS = TW_TM * TW_TN / 4,
  TW_SLICE_FOURS = TW_TM * TW_SUMS_ROW / 4,
  TW_AT_ONCE = 4, /* parts whose sums are read together */
  TW_ENDED = 2,   /* fours that an item ends together */
  TW_MOST_SHARED_TILES = 1024,
  TW_NOWHERE = -(1 << 15) /* the row of a window that is not there */
};

typedef struct {
  total_t at[4];
} __attribute__((aligned(16), may_alias)) tw_four_sums;

typedef total_t __attribute__((may_alias)) tw_total;

TW_GROUP_DYNAMIC(tw_four_sums, tw_stages);
TW_GROUP_SHARED(int32_t, tw_is_last, [1]);

/* How many groups have left their sums of a tile; all zero between launches. */
static int32_t tw_arrived[TW_MOST_SHARED_TILES];

#ifndef tw_copies_are_factors
#define tw_copies_are_factors() ((void)0)
#endif

#include "gpu_tile_end.h"

/* What an item reads: where its rows of w and the windows of its rows of x begin, and how far along them it is. */
typedef struct {
  int32_t w_offset[TW_W_COPIES]; /* negative where there is no row */
  int32_t corner[TW_X_COPIES];   /* row and column, 16 bits each; of matrices whether there is a row */
  int32_t offset[TW_X_COPIES];
  int32_t inner, channel, tap_x, tap_y;
} tw_reader;

/* Whether an item's next row is in a tile of so many; known before where all items copy as many. */
TW_GPU int32_t tw_has_row(int32_t row, int32_t rows) { return rows % TW_BETWEEN == 0 || row < rows; }

TW_GPU void tw_start_reading_w(tw_reader *reader, const tw_params *p, int32_t t, int32_t first_column) {
  TW_UNROLL for (int32_t i = 0; i < TW_W_COPIES; i++) {
    const int32_t within = t / TW_ACROSS + i * TW_BETWEEN, column = first_column + within;
    reader->w_offset[i] = tw_has_row(within, TW_TN) && column < p->columns ? column * p->w_row : -1;
  }
}

TW_GPU void tw_start_reading_x(tw_reader *reader, const tw_params *p, int32_t t, int32_t first_row, int32_t inner) {
  TW_UNROLL for (int32_t i = 0; i < TW_X_COPIES; i++) {
    const int32_t within = t / TW_ACROSS + i * TW_BETWEEN, row = first_row + within;
    const int32_t is_there = tw_has_row(within, TW_TM) && row < p->rows;
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
#if TW_COPIED == 16
  tw_copy_16(to, from, valid);
#elif TW_COPIED == 8
  tw_copy_8(to, from, valid);
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

/* Where an item reads on in a row of x; negative in the padding and beyond the end. */
TW_GPU int32_t tw_next_of_x(const tw_reader *reader, const tw_params *p, int32_t i) {
#if TW_WINDOWS
  const int32_t down = reader->tap_y * p->dilation_h, right = reader->tap_x * p->dilation_w;
  const int32_t further = (down * p->in_w + right) * p->x_row + reader->channel;
  const int32_t in_y = (reader->corner[i] >> 16) + down, in_x = (int16_t)reader->corner[i] + right;
  const int32_t is_inside = ((uint32_t)in_y < (uint32_t)p->in_h) & ((uint32_t)in_x < (uint32_t)p->in_w);
#else
  const int32_t further = reader->inner, is_inside = reader->corner[i];
#endif
  const int32_t valid = (reader->inner < p->inner) & is_inside;
  return valid ? reader->offset[i] + further : -1;
}

TW_GPU int32_t tw_next_of_w(const tw_reader *reader, const tw_params *p, int32_t i, int32_t inner) {
  const int32_t valid = (inner < p->inner) & (reader->w_offset[i] >= 0);
  return valid ? reader->w_offset[i] + inner : -1;
}

#if TW_COPIED

TW_GPU void tw_load_x(TW_LOCAL uint8_t *tile, tw_reader *reader, const tw_params *p, const TW_X *x, int32_t t) {
  const int32_t byte = t % TW_ACROSS * TW_COPY_BYTES;
  TW_UNROLL for (int32_t i = 0; i < TW_X_COPIES; i++) {
    const int32_t row = t / TW_ACROSS + i * TW_BETWEEN, from = tw_next_of_x(reader, p, i);
    TW_LOCAL uint8_t *const to = tile + tw_place(row, byte);
    if (tw_has_row(row, TW_TM)) tw_copy_padded(to, x + (from < 0 ? 0 : from), from >= 0, p->x_zero);
  }
  tw_read_on(reader, p);
}

TW_GPU void tw_load_w(TW_LOCAL uint8_t *tile, const tw_reader *reader, const tw_params *p, const TW_W *w, int32_t inner,
                      int32_t t) {
  const int32_t byte = t % TW_ACROSS * TW_COPY_BYTES;
  TW_UNROLL for (int32_t i = 0; i < TW_W_COPIES; i++) {
    const int32_t row = t / TW_ACROSS + i * TW_BETWEEN, from = tw_next_of_w(reader, p, i, inner + byte / TW_SIZE);
    if (tw_has_row(row, TW_TN)) tw_copy(tile + tw_place(row, byte), w + (from < 0 ? 0 : from), from >= 0);
  }
}

#else

typedef TW_X __attribute__((may_alias)) tw_x;
typedef TW_W __attribute__((may_alias)) tw_w;

/* Elements are on their way together before the first is put into its place. */
TW_GPU void tw_load_x(TW_LOCAL uint8_t *tile, tw_reader *reader, const tw_params *p, const TW_X *x, int32_t t) {
  TW_X elements[TW_X_COPIES];
  TW_UNROLL for (int32_t i = 0; i < TW_X_COPIES; i++) {
    const int32_t from = tw_next_of_x(reader, p, i);
    const TW_X element = x[from < 0 ? 0 : from];
    elements[i] = from < 0 ? (TW_X)p->x_zero : element;
  }
  TW_UNROLL for (int32_t i = 0; i < TW_X_COPIES; i++) {
    const int32_t row = t / TW_ACROSS + i * TW_BETWEEN;
    TW_LOCAL uint8_t *const to = tile + tw_place(row, t % TW_ACROSS * TW_COPY_BYTES);
    if (tw_has_row(row, TW_TM)) *(TW_LOCAL tw_x *)to = elements[i];
  }
  tw_read_on(reader, p);
}

TW_GPU void tw_load_w(TW_LOCAL uint8_t *tile, const tw_reader *reader, const tw_params *p, const TW_W *w, int32_t inner,
                      int32_t t) {
  TW_W elements[TW_W_COPIES];
  TW_UNROLL for (int32_t i = 0; i < TW_W_COPIES; i++) {
    const int32_t from = tw_next_of_w(reader, p, i, inner + t % TW_ACROSS);
    const TW_W element = w[from < 0 ? 0 : from];
    elements[i] = from < 0 ? 0 : element;
  }
  TW_UNROLL for (int32_t i = 0; i < TW_W_COPIES; i++) {
    const int32_t row = t / TW_ACROSS + i * TW_BETWEEN;
    TW_LOCAL uint8_t *const to = tile + tw_place(row, t % TW_ACROSS * TW_COPY_BYTES);
    if (tw_has_row(row, TW_TN)) *(TW_LOCAL tw_w *)to = elements[i];
  }
}

#endif

static inline tw_grid grid(const tw_params *p) {
  const tw_grid groups = {(p->rows + TW_TM - 1) / TW_TM, (p->columns + TW_TN - 1) / TW_TN, p->splits};
  return groups;
}

TW_GPU void tw_add_sums(tw_four_sums *sum, const TW_LOCAL tw_four_sums *added) {
  const tw_four_sums share = *added;
  TW_UNROLL for (int32_t i = 0; i < 4; i++) sum->at[i] += share.at[i];
}

/* All sums of a part of the inner dimension, to shared memory. */
TW_GPU void tw_sum_up(const tw_params *p, const tw_pointers *at, int32_t first_row, int32_t first_column,
                      int32_t part) {
  TW_LOCAL uint8_t *const stages = (TW_LOCAL uint8_t *)tw_stages;
  TW_ITEM_OWN(total_t, total, [TW_SUMS]);
  TW_ITEM_OWN(tw_reader, reader, [1]);
  TW_ITEM_OWN(total_t, more, [TW_MORE_SUMS]);
  const int32_t all_steps = (p->inner + TW_STEP - 1) / TW_STEP, start = part * p->steps;
  const int32_t steps = start + p->steps < all_steps ? p->steps : all_steps - start;
  /* What is constant is on its way before what others make is there. */
  TW_ITEMS(t) {
    tw_start_reading_w(reader[TW_OWN(t)], p, t, first_column);
    TW_UNROLL_STAGES for (int32_t stage = 0; stage < TW_STAGES - 1; stage++) {
      if (stage < steps) {
        tw_load_w(stages + stage * TW_STAGE + TW_X_TILE, reader[TW_OWN(t)], p, at->w, (start + stage) * TW_STEP, t);
      }
    }
    tw_start_reading_x(reader[TW_OWN(t)], p, t, first_row, start * TW_STEP);
    TW_UNROLL for (int32_t i = 0; i < TW_SUMS; i++) total[TW_OWN(t)][i] = 0;
    TW_UNROLL for (int32_t i = 0; i < TW_MORE_SUMS; i++) more[TW_OWN(t)][i] = 0;
  }
  TW_AFTER_OTHERS();
  TW_ITEMS(t) {
    TW_UNROLL_STAGES for (int32_t stage = 0; stage < TW_STAGES - 1; stage++) {
      if (stage < steps) tw_load_x(stages + stage * TW_STAGE, reader[TW_OWN(t)], p, at->x, t);
      tw_copies_commit();
    }
  }
  int32_t reading = 0, writing = TW_STAGES - 1;
  for (int32_t step = 0; step < steps; step++) {
    tw_copies_pending(TW_STAGES - 2);
    tw_copies_are_factors();
    TW_MEET();
    const TW_LOCAL uint8_t *const stage = stages + reading * TW_STAGE;
#ifdef TW_IS_STARTED
    TW_ITEMS(t) { tw_start_multiplying(total[TW_OWN(t)], stage, stage + TW_X_TILE, t); }
#endif
    TW_ITEMS(t) {
      const int32_t ahead = step + TW_STAGES - 1;
      if (ahead < steps) {
        tw_load_w(stages + writing * TW_STAGE + TW_X_TILE, reader[TW_OWN(t)], p, at->w, (start + ahead) * TW_STEP, t);
        tw_load_x(stages + writing * TW_STAGE, reader[TW_OWN(t)], p, at->x, t);
      }
      tw_copies_commit();
    }
    TW_ITEMS(t) {
#ifdef TW_IS_STARTED
      tw_finish_multiplying(total[TW_OWN(t)]);
#else
      tw_multiply(total[TW_OWN(t)], more[TW_OWN(t)], p->x_zero, stage, stage + TW_X_TILE, t);
#endif
    }
    reading = reading + 1 == TW_STAGES ? 0 : reading + 1;
    writing = writing + 1 == TW_STAGES ? 0 : writing + 1;
  }
  TW_LET_OTHERS();
  tw_copies_pending(0);
  TW_MEET();
  TW_ITEMS(t) {
    TW_LOCAL tw_total *const sums = (TW_LOCAL tw_total *)tw_stages + tw_slice(t) * TW_TM * TW_SUMS_ROW;
    TW_UNROLL for (int32_t i = 0; i < TW_SUMS; i++) {
      const total_t sum = tw_whole_sum(total[TW_OWN(t)][i], more[TW_OWN(t)][i % TW_MORE_SUMS], p->x_zero);
      sums[tw_sum_row(t, i) * TW_SUMS_ROW + tw_sum_column(t, i)] = sum;
    }
  }
#if TW_SLICES > 1
  TW_MEET();
  TW_ITEMS(t) {
    for (int32_t four = t; four < TW_SLICE_FOURS; four += TW_GROUP_SIZE) {
      tw_four_sums sum = tw_stages[four];
      TW_UNROLL for (int32_t slice = 1; slice < TW_SLICES; slice++) {
        tw_add_sums(&sum, &tw_stages[slice * TW_SLICE_FOURS + four]);
      }
      tw_stages[four] = sum;
    }
  }
#endif
}

/* Leaves the sums of a part for the group that comes last; whether it is this one. */
TW_GPU int32_t tw_left_sums(const tw_params *p, TW_LEFT tw_four_sums *shares, int32_t tile, int32_t part) {
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

/* Four neighbours, with what all groups that share the tile have of them. */
TW_GPU tw_four_sums tw_sums_of_all(const tw_params *p, const TW_LEFT tw_four_sums *shares, int32_t four, int32_t is_cluster) {
  const TW_LOCAL tw_four_sums *const own = &tw_stages[(four / (TW_TN / 4) * TW_SUMS_ROW + four % (TW_TN / 4) * 4) / 4];
  if (p->splits == 1) return *own;
  tw_four_sums sum = {{0, 0, 0, 0}};
  /* Some are on their way at once. */
  for (int32_t first = 0; first < p->splits; first += TW_AT_ONCE) {
    tw_four_sums share[TW_AT_ONCE];
    TW_UNROLL for (int32_t i = 0; i < TW_AT_ONCE; i++) {
      const int32_t part = first + i < p->splits ? first + i : first;
      if (is_cluster) {
        tw_cluster_read(&share[i], own, part);
      } else {
        share[i] = shares[part * TW_FOURS + four];
      }
    }
    TW_UNROLL for (int32_t i = 0; i < TW_AT_ONCE; i++) {
      if (first + i < p->splits) {
        TW_UNROLL for (int32_t j = 0; j < 4; j++) sum.at[j] += share[i].at[j];
      }
    }
  }
  return sum;
}

TW_GPU void tw_tiles(const tw_params *p, const tw_pointers *at) {
  const int32_t first_row = TW_GROUP_X * TW_TM, first_column = TW_GROUP_Y * TW_TN;
  const int32_t tile = TW_GROUP_Y * TW_GROUPS_X + TW_GROUP_X, is_cluster = tw_cluster_size() > 1;
  TW_LEFT tw_four_sums *const shares = (TW_LEFT tw_four_sums *)at->scratch + (int64_t)tile * p->splits * TW_FOURS;
  TW_ITEM_OWN(tw_columns, columns, [1]);
  /* All fours of an item are in the same columns: a group has items for whole rows of them. */
  TW_ITEMS(t) {
    if (TW_READS_EARLY) tw_read_columns(columns[TW_OWN(t)], p, at, first_column + t % (TW_TN / 4) * 4);
  }
  tw_sum_up(p, at, first_row, first_column, TW_GROUP_Z);
  if (is_cluster) {
    TW_CLUSTER_MEET();
  } else {
    TW_MEET();
    if (p->splits > 1 && !tw_left_sums(p, shares, tile, TW_GROUP_Z)) return;
  }
  /* Of a cluster, every group ends a share of the tile. */
  const int32_t sharing = is_cluster ? p->splits : 1, first = is_cluster ? TW_GROUP_Z : 0;
  TW_ITEMS(t) {
    for (int32_t start = first * TW_GROUP_SIZE + t; start < TW_FOURS; start += TW_ENDED * sharing * TW_GROUP_SIZE) {
      tw_four_sums sums[TW_ENDED] TW_UNSET;
      tw_four_added added[TW_ENDED] TW_UNSET;
      TW_UNROLL for (int32_t i = 0; i < TW_ENDED; i++) {
        const int32_t four = start + i * sharing * TW_GROUP_SIZE;
        const int32_t row = first_row + four / (TW_TN / 4), column = first_column + four % (TW_TN / 4) * 4;
        if (four < TW_FOURS && row < p->rows && column < p->columns) {
          if (at->r) added[i] = tw_read_added(p, at, row, column);
          sums[i] = tw_sums_of_all(p, shares, four, is_cluster);
        }
      }
      TW_UNROLL for (int32_t i = 0; i < TW_ENDED; i++) {
        const int32_t four = start + i * sharing * TW_GROUP_SIZE;
        const int32_t row = first_row + four / (TW_TN / 4), column = first_column + four % (TW_TN / 4) * 4;
        if (four < TW_FOURS && row < p->rows && column < p->columns) {
          tw_read_late(columns[TW_OWN(t)], p, at, row, column);
          tw_end(p, at, columns[TW_OWN(t)], row, column, sums[i].at, &added[i]);
        }
      }
    }
  }
  if (is_cluster) TW_CLUSTER_MEET(); /* what others read stays until all have read it */
}

#endif
