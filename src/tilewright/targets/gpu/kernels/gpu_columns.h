/* Products of few rows with matrices, as fast as these can be read: columns of the result two at a time, by one or
 * several warps that share them. Of a row of w an item has 16 bytes at a time, several pieces of both rows on their way;
 * the first ones come while the launch before ends, and those of the next two columns while the sums of these are joined.
 *
 * Where TW_IS_STAGED is defined, all weights of a group come to shared memory while the launches before go on: an item
 * reads what it has copied itself. Where TW_IS_HELD is, there are too many for that: gpu_columns_held.h.
 *
 * Of weights in blocks (gpu_block.h) an item has 32 at a time. As neighbours would read distant places of x at once, that
 * is brought to shared memory first, TW_CHUNK elements of its one row at a time.
 *
 * A kernel defines TW_FACTOR (what x is) and TW_WEIGHT, how each is read, TW_IS_SCALED (whether x may be) and with
 * TW_EARLY which pointers are weights before; and then tw_work, tw_rows_of and tw_end. */
#ifndef TW_GPU_COLUMNS_H
#define TW_GPU_COLUMNS_H

#define TW_GROUP_SIZE 128
#define TW_WAITS_ITSELF
#ifdef TW_BLOCK_BITS
#define TW_MOST_ROWS 1
#elif !defined(TW_MOST_ROWS)
#define TW_MOST_ROWS 4 /* MOST_ROWS in few_rows.py */
#endif

#include "gpu_few_rows.h"
#ifdef TW_IS_STAGED
#define TW_DYNAMIC_BYTES tw_staged_bytes(&params->shape, sizeof(TW_WEIGHT))
#elif defined(TW_IS_HELD)
#define TW_DYNAMIC_BYTES tw_held_bytes(&params->shape, sizeof(TW_WEIGHT))
#endif
#include "gpu_async.h"
#include "gpu_lanes.h"
#include "half.h"

#ifdef TW_BLOCK_BITS
#include "gpu_block.h"
#endif

enum {
  TW_WARP = 32,
  TW_WARPS = TW_FEW_ROWS_WARPS,
  TW_SUMS = 2 + TW_IS_SCALED /* of a row: those of both columns, and where it is scaled that of its squares */
};

/* Rows of w for two columns. */
typedef struct {
  const TW_WEIGHT *one, *other;
} tw_two_rows;

#ifdef TW_BLOCK_BITS

enum {
  TW_PIECE = TW_BLOCK,
  TW_AHEAD = TW_BLOCK_BITS == 8 ? 2 : TW_SCALING < TW_SUPER ? 3 : 4, /* as many as there are registers for */
  TW_CHUNK = 8192,
  TW_STORED_BLOCK = TW_BLOCK + 4 /* of x: neighbours find theirs in different banks */
};

typedef struct {
  float at[4];
} __attribute__((aligned(16), may_alias)) tw_four;

TW_GROUP_SHARED(tw_four, tw_x, [TW_CHUNK / TW_BLOCK * TW_STORED_BLOCK / 4]);
TW_GROUP_SHARED(float, tw_squares, [TW_WARPS]);

typedef const TW_LOCAL tw_four *tw_x_row;

/* Elements from `first` on, scaled where there is a scale; the sum of their squares before that. */
TW_GPU float tw_bring(const float *x, const float *scale, int32_t first, int32_t inner, int32_t t) {
  const int32_t count = inner - first < TW_CHUNK ? inner - first : TW_CHUNK;
  float squares = 0.0f;
  for (int32_t at = 4 * t; at < count; at += 4 * TW_GROUP_SIZE) {
    tw_four some = *(const tw_four *)(x + first + at);
    tw_four scales;
    if (scale) scales = *(const tw_four *)(scale + first + at);
    TW_UNROLL for (int32_t i = 0; i < 4; i++) {
      squares += some.at[i] * some.at[i];
      if (scale) some.at[i] *= scales.at[i];
    }
    tw_x[(at / TW_BLOCK * TW_STORED_BLOCK + at % TW_BLOCK) / 4] = some;
  }
  return squares;
}

/* What a piece adds to the sums of the row: levels times x, then what they are multiplied with. */
TW_GPU void tw_add_piece(float *sums, const tw_weights *one, const tw_weights *other, tw_x_row x) {
  TW_UNROLL for (int32_t half = 0; half < 2; half++) {
    float first = 0.0f, second = 0.0f, total = 0.0f;
    TW_UNROLL for (int32_t four = 0; four < 4; four++) {
      const tw_four some = x[half * 4 + four];
      TW_UNROLL for (int32_t i = 0; i < 4; i++) {
        const int32_t element = half * 16 + four * 4 + i;
        first += some.at[i] * tw_level(one, element);
        second += some.at[i] * tw_level(other, element);
        total += some.at[i];
      }
    }
    sums[0] += tw_scale(one->scales, half) * first + tw_least(one->scales) * total;
    sums[1] += tw_scale(other->scales, half) * second + tw_least(other->scales) * total;
  }
}

#else

enum {
  TW_AHEAD = 4,
  TW_CHUNK = 1 << 30,
  TW_PIECE = 16 / sizeof(TW_WEIGHT) /* elements */
};

/* Elements as words, of which GPUs keep one in a register: two floats of 16 bits, the first one in the lower half. */
typedef struct {
  uint32_t at[4];
} __attribute__((aligned(16), may_alias)) tw_weights;

typedef struct {
  uint32_t at[TW_PIECE * sizeof(TW_FACTOR) / 4];
} __attribute__((aligned(sizeof(TW_FACTOR) * TW_PIECE < 16 ? 8 : 16), may_alias)) tw_elements;

#define TW_OF_WORDS(TYPE, LOAD, WORDS, I)                                                 \
  (sizeof(TYPE) == 2 ? LOAD((uint16_t)((WORDS)[(I) / 2] >> ((I) % 2 * 16))) : tw_float_of_bits((WORDS)[(I) % TW_PIECE]))

typedef struct {
  float at[TW_PIECE];
} __attribute__((aligned(16), may_alias)) tw_scales;

/* As kernels find it where it is. */
typedef const TW_FACTOR *tw_x_row;

TW_GPU tw_weights tw_weights_at(const TW_WEIGHT *row, int32_t inner, int32_t at) {
  (void)inner;
  return *(const tw_weights *)(row + at);
}

/* What a piece adds to the sums of a row. */
TW_GPU void tw_add_piece(float *sums, const tw_weights *one, const tw_weights *other, const TW_FACTOR *x,
                         const float *scale) {
  const tw_elements piece = *(const tw_elements *)x;
  tw_scales scales;
  if (scale) scales = *(const tw_scales *)scale;
  TW_UNROLL for (int32_t k = 0; k < TW_PIECE; k++) {
    const float element = TW_OF_WORDS(TW_FACTOR, TW_FACTOR_LOAD, piece.at, k);
    const float value = scale ? element * scales.at[k] : element;
    sums[0] += value * TW_OF_WORDS(TW_WEIGHT, TW_WEIGHT_LOAD, one->at, k);
    sums[1] += value * TW_OF_WORDS(TW_WEIGHT, TW_WEIGHT_LOAD, other->at, k);
    if (TW_IS_SCALED && scale) sums[TW_SUMS - 1] += element * element;
  }
}

#endif

typedef struct {
  tw_weights one[TW_AHEAD], other[TW_AHEAD];
} tw_pieces;

/* The sums of two columns for one row. */
typedef struct {
  float one, other, squares;
} tw_two_sums;

/* What a kernel multiplies, and what it does with sums; `two` says which columns. */
typedef struct tw_work tw_work;
TW_GPU tw_two_rows tw_rows_of(const tw_work *work, int32_t two);
TW_GPU void tw_end(const tw_work *work, int32_t two, int32_t row, const tw_two_sums *sums);

/* What warps have found, of two columns after others in turn. */
TW_GROUP_SHARED(float, tw_sums, [2][TW_WARPS][TW_MOST_ROWS * TW_SUMS]);

/* The pieces of two rows of w that an item multiplies next, from an element on; behind the end, the first ones. */
TW_GPU void tw_fetch(tw_pieces *ahead, tw_two_rows rows, int32_t inner, int32_t first, int32_t step) {
  TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
    const int32_t at = first + i * step < inner ? first + i * step : 0;
    ahead->one[i] = tw_weights_at(rows.one, inner, at);
    ahead->other[i] = tw_weights_at(rows.other, inner, at);
  }
}

/* What an item's piece adds to the sums of all rows; `first` is where x begins that there is. */
TW_GPU void tw_add_pieces(float *sums, const tw_weights *one, const tw_weights *other, const tw_columns *p,
                          const TW_FACTOR *x, const float *scale, int32_t at, int32_t first) {
#ifdef TW_BLOCK_BITS
  (void)p, (void)x, (void)scale;
  tw_add_piece(sums, one, other, tw_x + (at - first) / TW_BLOCK * (TW_STORED_BLOCK / 4));
#else
  (void)first;
  TW_UNROLL for (int32_t row = 0; row < TW_MOST_ROWS; row++) {
    if (row < p->rows) {
      tw_add_piece(sums + row * TW_SUMS, one, other, x + (int64_t)row * p->x_row + at, scale ? scale + at : NULL);
    }
  }
#endif
}

/* An item's share of the sums of two columns, of elements of a chunk; the first pieces are there. */
TW_GPU void tw_share(float *sums, tw_pieces *ahead, const tw_columns *p, const TW_FACTOR *x, const float *scale,
                     tw_two_rows rows, int32_t start, int32_t step, int32_t chunk) {
  const int32_t end = p->inner - chunk < TW_CHUNK ? p->inner : chunk + TW_CHUNK;
  if (!chunk) {
    TW_UNROLL for (int32_t i = 0; i < TW_MOST_ROWS * TW_SUMS; i++) sums[i] = 0.0f;
  }
  for (int32_t first = chunk + start; first < end; first += step * TW_AHEAD) {
    if (first != chunk + start) tw_fetch(ahead, rows, end, first, step);
    TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
      const int32_t at = first + i * step;
      if (at < end) tw_add_pieces(sums, &ahead->one[i], &ahead->other[i], p, x, scale, at, chunk);
    }
  }
}

/* Which columns the warps of an item make. */
TW_GPU int32_t tw_two_of(const tw_columns *p, int32_t round, int32_t t) {
  const int32_t teams = TW_WARPS / p->sharing;
  return (round * p->groups + TW_GROUP_X) * teams + t / (TW_WARP * p->sharing);
}

/* Those, or the last ones: all have something to read. */
TW_GPU tw_two_rows tw_rows_there(const tw_work *work, const tw_columns *p, int32_t round, int32_t t) {
  const int32_t two = tw_two_of(p, round, t);
  return tw_rows_of(work, two < p->twos ? two : p->twos - 1);
}

/* The sums of two columns of a row. */
TW_GPU tw_two_sums tw_sums_of(const tw_columns *p, int32_t round, int32_t team, int32_t row) {
  tw_two_sums found = {0.0f, 0.0f, 0.0f};
  for (int32_t warp = 0; warp < p->sharing; warp++) {
    const TW_LOCAL float *const own = &tw_sums[round % 2][team * p->sharing + warp][row * TW_SUMS];
    found.one += own[0];
    found.other += own[1];
    if (TW_IS_SCALED) found.squares += own[TW_SUMS - 1];
  }
#ifdef TW_BLOCK_BITS
  found.squares = 0.0f;
  TW_UNROLL for (int32_t warp = 0; warp < TW_WARPS; warp++) found.squares += tw_squares[warp];
#endif
  return found;
}

#if defined(TW_IS_STAGED) && defined(TW_GPU_DEVICE)

TW_GROUP_DYNAMIC(tw_weights, tw_staged);

/* Where the first of the two rows of w lie that the warps of an item have in a round; the other one is behind it. */
TW_GPU TW_LOCAL tw_weights *tw_staged_rows(const tw_columns *p, int32_t round, int32_t t) {
  const int32_t teams = TW_WARPS / p->sharing, team = t / (TW_WARP * p->sharing);
  return tw_staged + (round * teams + team) * 2 * (p->inner / TW_PIECE);
}

TW_GPU void tw_stage(const tw_work *work, const tw_columns *p, int32_t rounds, int32_t t) {
  const int32_t lanes = TW_WARP * p->sharing, pieces = p->inner / TW_PIECE;
  for (int32_t round = 0; round < rounds; round++) {
    const tw_two_rows rows = tw_rows_there(work, p, round, t);
    TW_LOCAL tw_weights *const to = tw_staged_rows(p, round, t);
    TW_UNROLL_BY(4)
    for (int32_t i = t % lanes; i < pieces; i += lanes) {
      tw_copy_16(to + i, rows.one + i * TW_PIECE, 1);
      tw_copy_16(to + pieces + i, rows.other + i * TW_PIECE, 1);
    }
  }
  tw_copies_commit();
}

/* An item's share of the sums of two columns. */
TW_GPU void tw_share_staged(float *sums, const tw_columns *p, const TW_FACTOR *x, const float *scale, int32_t round,
                            int32_t t) {
  const int32_t lanes = TW_WARP * p->sharing, pieces = p->inner / TW_PIECE;
  const TW_LOCAL tw_weights *const rows = tw_staged_rows(p, round, t);
  TW_UNROLL for (int32_t i = 0; i < TW_MOST_ROWS * TW_SUMS; i++) sums[i] = 0.0f;
  TW_UNROLL_BY(4)
  for (int32_t i = t % lanes; i < pieces; i += lanes) {
    const tw_weights one = rows[i], other = rows[pieces + i];
    tw_add_pieces(sums, &one, &other, p, x, scale, i * TW_PIECE, 0);
  }
}

#define TW_BEFORE_OTHERS(T) tw_stage(work, p, rounds, T)
#define TW_ROUND(T, ROUND) tw_share_staged(sums[TW_OWN(T)], p, x, scale, ROUND, T)

#endif

#if defined(TW_IS_HELD) && defined(TW_GPU_DEVICE)
#include "gpu_columns_held.h"
#else

TW_GPU void tw_multiply_columns(const tw_columns *p, const tw_work *work, const TW_FACTOR *x, const float *scale) {
  const int32_t lanes = TW_WARP * p->sharing, teams = TW_WARPS / p->sharing, step = lanes * TW_PIECE;
  const int32_t rounds = tw_rounds(p);
#ifndef TW_ROUND
  TW_ITEM_OWN(tw_pieces, ahead, [1]);
#endif
  TW_ITEM_OWN(float, sums, [TW_MOST_ROWS * TW_SUMS]);
  TW_ITEM_OWN(float, other, [TW_MOST_ROWS * TW_SUMS]);
#ifdef TW_BLOCK_BITS
  TW_ITEM_OWN(float, squares, [1]);
  TW_ITEMS(t) { squares[TW_OWN(t)][0] = 0.0f; }
#endif
  TW_LET_OTHERS();
#ifdef TW_ROUND
  TW_ITEMS(t) { TW_BEFORE_OTHERS(t); }
  TW_AFTER_OTHERS();
  tw_copies_pending(0);
#else
  TW_ITEMS(t) { tw_fetch(ahead[TW_OWN(t)], tw_rows_there(work, p, 0, t), p->inner, t % lanes * TW_PIECE, step); }
  TW_AFTER_OTHERS();
#endif
  for (int32_t round = 0; round < rounds; round++) {
#ifdef TW_ROUND
    TW_ITEMS(t) { TW_ROUND(t, round); }
#else
    for (int32_t chunk = 0; chunk < p->inner; chunk += TW_CHUNK) {
#ifdef TW_BLOCK_BITS
      if (!round || p->inner > TW_CHUNK) {
        if (round || chunk) TW_MEET();
        TW_ITEMS(t) {
          const float found = tw_bring(x, scale, chunk, p->inner, t);
          if (!round) squares[TW_OWN(t)][0] += found;
        }
        TW_MEET();
      }
#endif
      TW_ITEMS(t) {
        const int32_t start = t % lanes * TW_PIECE, next = p->inner - chunk <= TW_CHUNK ? 0 : chunk + TW_CHUNK;
        tw_share(sums[TW_OWN(t)], ahead[TW_OWN(t)], p, x, scale, tw_rows_there(work, p, round, t), start, step, chunk);
        if (next || round + 1 < rounds) {
          tw_fetch(ahead[TW_OWN(t)], tw_rows_there(work, p, next ? round : round + 1, t), p->inner, next + start, step);
        }
      }
    }
#endif
    TW_UNROLL for (int32_t row = 0; row < TW_MOST_ROWS; row++) {
      if (row < p->rows) TW_SUM_LANES(sums, other, row * TW_SUMS, TW_SUMS, TW_WARP);
    }
#ifdef TW_BLOCK_BITS
    if (!round) TW_SUM_LANES(squares, other, 0, 1, TW_WARP);
#endif
    TW_ITEMS(t) {
      if (t % TW_WARP == 0) {
        TW_UNROLL for (int32_t i = 0; i < TW_MOST_ROWS * TW_SUMS; i++) {
          tw_sums[round % 2][t / TW_WARP][i] = sums[TW_OWN(t)][i];
        }
#ifdef TW_BLOCK_BITS
        if (!round) tw_squares[t / TW_WARP] = squares[TW_OWN(t)][0];
#endif
      }
    }
    TW_MEET();
    TW_ITEMS(t) {
      const int32_t team = t % TW_WARPS, row = t / TW_WARPS, two = tw_two_of(p, round, team * lanes);
      if (team < teams && row < p->rows && two < p->twos) {
        const tw_two_sums found = tw_sums_of(p, round, team, row);
        tw_end(work, two, row, &found);
      }
    }
  }
}

#endif

#endif
