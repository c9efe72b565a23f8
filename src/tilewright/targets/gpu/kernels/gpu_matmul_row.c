/* One row of bytes, multiplied with a matrix whose columns have their elements side by side: items share a column, 16
 * bytes at a time. Weights are on their way while the launch before ends. */
#define TW_GROUP_SIZE 128
#define TW_WAITS_ITSELF
#define TW_EARLY 30 /* b, c, mul, add */

#ifndef TW_NAME
#define TW_NAME tw_gpu_matmul_row
#define TW_A int8_t
#define TW_B int8_t
#define TW_C int32_t
#define TW_Y int8_t
#endif
#define TW_X TW_A

#include "gpu.h"
#include "gpu_unroll.h"
#include "gpu_words.h"
#include "matmul.h"

enum {
  TW_SHARERS = 16,
  TW_TOGETHER = TW_GROUP_SIZE / TW_SHARERS, /* columns of a group */
  TW_PIECE = 16,                            /* bytes */
  TW_HELD = 6                               /* pieces that an item reads early */
};

typedef struct {
  uint32_t at[TW_PIECE / 4];
} __attribute__((aligned(TW_PIECE), may_alias)) tw_piece;

/* What an item reads early: weights, and what the first of a column ends its sum with. */
typedef struct {
  tw_piece weights[TW_HELD];
  uint32_t bias;
  int32_t mul, add;
} tw_known;

TW_GROUP_SHARED(uint32_t, parts, [TW_GROUP_SIZE]);

static inline tw_grid grid(const tw_matmul_params *p) {
  const tw_grid groups = {(p->columns + TW_TOGETHER - 1) / TW_TOGETHER, 1, 1};
  return groups;
}

TW_GPU int32_t pieces_of(const tw_matmul_params *p) { return p->inner / TW_PIECE; }

/* A piece of a column; beyond its end, the last one. */
TW_GPU tw_piece weights_at(const tw_matmul_params *p, const TW_B *column, int32_t piece) {
  const int32_t last = pieces_of(p) - 1;
  return *(const tw_piece *)(column + (piece < last ? piece : last) * TW_PIECE);
}

TW_GPU void read_known(tw_known *known, const tw_matmul_params *p, const TW_B *b, const TW_C *c, const int32_t *mul,
                       const int32_t *add, int32_t column, int32_t share) {
  TW_UNROLL for (int32_t i = 0; i < TW_HELD; i++) {
    known->weights[i] = weights_at(p, b + (int64_t)column * p->b_column, share + i * TW_SHARERS);
  }
  known->bias = c ? (uint32_t)c[column * p->c_column] : 0;
  known->mul = p->requantised ? mul[column * p->mul_column] : 0;
  known->add = p->requantised && add ? add[column * p->add_column] : 0;
}

TW_GPU uint32_t with_piece(uint32_t total, const TW_A *a, const tw_piece *weights, int32_t piece) {
  const tw_piece row = *(const tw_piece *)(a + piece * TW_PIECE);
  TW_UNROLL for (int32_t i = 0; i < TW_PIECE / 4; i++) total = tw_four_products(total, row.at[i], weights->at[i]);
  return total;
}

/* An item's part of the sum of a column. */
TW_GPU uint32_t part_of(const tw_matmul_params *p, const tw_known *known, const TW_A *a, const TW_B *column,
                        int32_t share) {
  uint32_t total = 0;
  TW_UNROLL for (int32_t i = 0; i < TW_HELD; i++) {
    const int32_t piece = share + i * TW_SHARERS;
    if (piece < pieces_of(p)) total = with_piece(total, a, &known->weights[i], piece);
  }
  TW_UNROLL_BY(4)
  for (int32_t piece = share + TW_HELD * TW_SHARERS; piece < pieces_of(p); piece += TW_SHARERS) {
    const tw_piece weights = weights_at(p, column, piece);
    total = with_piece(total, a, &weights, piece);
  }
  return total;
}

TW_GPU void group(const tw_matmul_params *params, const TW_A *a, const TW_B *b, const TW_C *c, const int32_t *mul,
                  const int32_t *add, TW_Y *y) {
  const tw_matmul_params *const p = params;
  const int32_t first = TW_GROUP_X * TW_TOGETHER;
  TW_ITEM_OWN(tw_known, known, [1]);
  TW_LET_OTHERS();
  TW_ITEMS(t) {
    const int32_t column = first + t / TW_SHARERS;
    if (column < p->columns) read_known(known[TW_OWN(t)], p, b, c, mul, add, column, t % TW_SHARERS);
  }
  TW_AFTER_OTHERS();
  TW_ITEMS(t) {
    const int32_t column = first + t / TW_SHARERS;
    const TW_B *const weights = b + (int64_t)column * p->b_column;
    parts[t] = column < p->columns ? part_of(p, known[TW_OWN(t)], a, weights, t % TW_SHARERS) : 0;
  }
  TW_MEET();
  for (int32_t half = TW_SHARERS / 2; half > 0; half /= 2) {
    TW_ITEMS(t) {
      if (t % TW_SHARERS < half) parts[t] += parts[t + half];
    }
    TW_MEET();
  }
  TW_ITEMS(t) {
    const int32_t column = first + t / TW_SHARERS;
    if (t % TW_SHARERS == 0 && column < p->columns) {
      const tw_known *const own = known[TW_OWN(t)];
      const int32_t total = (int32_t)(parts[t] + own->bias);
      y[column] = (TW_Y)(p->requantised ? tw_requantise(&p->requant, total, own->mul, own->add) : total);
    }
  }
}

TW_GPU_KERNEL(tw_matmul_params,
              (const TW_A *a, const TW_B *b, const TW_C *c, const int32_t *mul, const int32_t *add, TW_Y *y),
              (a, b, c, mul, add, y))
