/* Rows times a panel: a matrix with as many columns as two vectors have lanes, row after row. Sums stay in registers. */
#ifndef TW_PANELS_H
#define TW_PANELS_H

#include "activation.h"
#include "tw.h"
#include "vectors.h"

#define TW_PANEL (2 * TW_LANES)

/* Rows at a time: their sums, a row of the panel and some factors fill the registers. */
#if defined(__aarch64__)
#define TW_TILE 8
#elif defined(TW_ANY_LENGTH)
#define TW_TILE 7
#elif TW_VECTOR_BYTES == 64
#define TW_TILE 10 /* more would leave no registers for where the rows are */
#elif TW_VECTOR_BYTES == 32
#define TW_TILE 6
#else
#define TW_TILE 4
#endif

#define TW_AHEAD 512 /* elements before a panel is needed that it is asked for, where one row reads it */
#define TW_LINE 16   /* elements that come at once */

/* Factors of a row that are loaded together. */
typedef float tw_four __attribute__((vector_size(16)));

/* What a row consists of: parts of one length, `at` elements behind where the row begins. */
typedef struct {
  int32_t count, length;
  const int32_t *at;
} tw_parts;

/* What is done with sums before they are stored. */
typedef struct {
  int32_t raises, lowers; /* to at least `low`, to at most `high` */
  float low, high;
} tw_bounds;

/* Where clamping is all that there is to do, tiles do it; anything else follows when all of a row is stored. */
static inline tw_bounds tw_bounds_of(const tw_activation *activation) {
  const tw_bounds none = {0, 0, 0.0f, 0.0f};
  if (activation->kind != TW_CLAMP) return none;
  const tw_bounds found = {1, activation->beta < 3.4e38f, activation->alpha, activation->beta};
  return found;
}

TW_INLINE tw_vector tw_bounded(tw_vector x, const tw_bounds *bounds) {
  if (bounds->raises) x = tw_at_least(x, tw_all(bounds->low));
  return bounds->lowers ? tw_at_most(x, tw_all(bounds->high)) : x;
}

/* Results of a tile: y_row from row to row, of which `columns` are stored. */
typedef struct {
  const float *bias; /* whole vectors; 0: sums go on with what is stored */
  tw_bounds bounds;
  float *y;
  int64_t y_row;
  int32_t columns;
} tw_tile_end;

/* Sums begin with the bias, or go on with what is stored. */
TW_INLINE void tw_begin_tile(const int rows, const int vectors, tw_vector sum[][2], const tw_tile_end *end) {
  if (end->bias) {
    TW_UNROLL for (int v = 0; v < vectors; v++) {
      const tw_vector bias = tw_load(end->bias + v * TW_LANES);
      TW_UNROLL for (int r = 0; r < rows; r++) sum[r][v] = bias;
    }
    return;
  }
  const int32_t last = end->columns - (vectors - 1) * TW_LANES;
  TW_UNROLL for (int r = 0; r < rows; r++) {
    const float *const y = end->y + r * end->y_row;
    TW_UNROLL for (int v = 0; v < vectors - 1; v++) sum[r][v] = tw_load(y + v * TW_LANES);
    sum[r][vectors - 1] = last == TW_LANES ? tw_load(y + (vectors - 1) * TW_LANES)
                                           : tw_load_first(y + (vectors - 1) * TW_LANES, last);
  }
}

/* `rows` and `vectors` are constants. Each question is asked once for all sums. */
TW_INLINE void tw_end_tile(const int rows, const int vectors, tw_vector sum[][2], const tw_tile_end *end) {
  float *const to = end->y; /* what is stored may be anything, for all that compilers know */
  const int64_t y_row = end->y_row;
  if (end->bounds.raises) {
    const tw_vector low = tw_all(end->bounds.low);
    TW_UNROLL for (int r = 0; r < rows; r++) {
      TW_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = tw_at_least(sum[r][v], low);
    }
  }
  if (end->bounds.lowers) {
    const tw_vector high = tw_all(end->bounds.high);
    TW_UNROLL for (int r = 0; r < rows; r++) {
      TW_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = tw_at_most(sum[r][v], high);
    }
  }
  const int32_t last = end->columns - (vectors - 1) * TW_LANES;
  TW_UNROLL for (int r = 0; r < rows; r++) {
    float *const y = to + r * y_row;
    TW_UNROLL for (int v = 0; v < vectors - 1; v++) tw_store(y + v * TW_LANES, sum[r][v]);
  }
  if (last == TW_LANES) {
    TW_UNROLL for (int r = 0; r < rows; r++) {
      tw_store(to + r * y_row + (vectors - 1) * TW_LANES, sum[r][vectors - 1]);
    }
  } else {
    TW_UNROLL for (int r = 0; r < rows; r++) {
      tw_store_first(to + r * y_row + (vectors - 1) * TW_LANES, sum[r][vectors - 1], last);
    }
  }
}

#if defined(TW_ANY_LENGTH)
#include "tiles_any_length.h"
#endif

/* `rows` and `vectors` are constants. The panel's rows are `step` apart. */
TW_INLINE void tw_tile(const int rows, const int vectors, const float *const *row, const tw_parts *parts,
                       const float *panel, int64_t step, const tw_tile_end *end) {
#if defined(TW_ANY_LENGTH)
  tw_tile_any_length(rows, row, parts, panel, step, end);
  (void)vectors;
#else
  tw_vector sum[TW_TILE][2];
  const float *from[TW_TILE];
  TW_UNROLL for (int r = 0; r < rows; r++) from[r] = row[r];
  tw_begin_tile(rows, vectors, sum, end);
  for (int32_t part = 0; part < parts->count; part++) {
    int64_t k = parts->at[part];
    const int64_t stop = k + parts->length;
#if defined(__aarch64__)
    /* Four factors of each row at a time: products take them by their place in a register. */
    for (; k + 4 <= stop; k += 4, panel += 4 * step) {
      tw_four x[TW_TILE];
      TW_UNROLL for (int r = 0; r < rows; r++) memcpy(&x[r], from[r] + k, sizeof x[r]);
      TW_UNROLL for (int j = 0; j < 4; j++) {
        TW_UNROLL for (int v = 0; v < vectors; v++) {
          const tw_vector w = tw_load(panel + j * step + v * TW_LANES);
          TW_UNROLL for (int r = 0; r < rows; r++) sum[r][v] += w * x[r][j];
        }
      }
    }
#endif
    for (; k < stop; k++, panel += step) {
      TW_UNROLL for (int v = 0; v < vectors; v++) {
        const tw_vector w = tw_load(panel + v * TW_LANES);
        TW_UNROLL for (int r = 0; r < rows; r++) sum[r][v] += w * from[r][k];
      }
    }
  }
  tw_end_tile(rows, vectors, sum, end);
#endif
}

/* Four rows of a panel that is read once: nothing else is worth a load while it comes from behind the level-1 cache. */
TW_INLINE void tw_line_of_four(const int vectors, tw_vector sum[][2], const float *x, const float *panel, int64_t step) {
  tw_four factors;
  memcpy(&factors, x, sizeof factors);
  TW_UNROLL for (int at = 0; at < 4 * vectors * TW_LANES; at += TW_LINE) __builtin_prefetch(panel + TW_AHEAD + at);
  TW_UNROLL for (int j = 0; j < 4; j++) {
    TW_UNROLL for (int v = 0; v < vectors; v++) sum[j][v] += tw_load_alone(panel + j * step + v * TW_LANES) * factors[j];
  }
}

/* One row: sums over every fourth element do not wait for each other. */
TW_INLINE void tw_line(const int vectors, const float *row, const tw_parts *parts, const float *panel, int64_t step,
                       const tw_tile_end *end) {
#if defined(TW_ANY_LENGTH)
  tw_tile(1, vectors, &row, parts, panel, step, end);
#else
  tw_vector sum[4][2];
  TW_UNROLL for (int j = 0; j < 4; j++) {
    TW_UNROLL for (int v = 0; v < vectors; v++) sum[j][v] = (tw_vector){0};
  }
  for (int32_t part = 0; part < parts->count; part++) {
    const float *x = row + parts->at[part];
    int32_t k = 0;
    for (; k + 4 <= parts->length; k += 4, panel += 4 * step) tw_line_of_four(vectors, sum, x + k, panel, step);
    for (; k < parts->length; k++, panel += step) {
      TW_UNROLL for (int v = 0; v < vectors; v++) sum[0][v] += tw_load(panel + v * TW_LANES) * x[k];
    }
  }
  tw_vector start[1][2];
  tw_begin_tile(1, vectors, start, end);
  TW_UNROLL for (int v = 0; v < vectors; v++) {
    sum[0][v] = start[0][v] + ((sum[0][v] + sum[1][v]) + (sum[2][v] + sum[3][v]));
  }
  tw_end_tile(1, vectors, sum, end);
#endif
}

/* One row and as many panels, one after another, as there are columns. */
static inline void tw_line_of_panels(const float *row, const tw_parts *parts, const float *panel, int64_t inner,
                                     int32_t columns, tw_tile_end *end) {
  for (; columns > 0; columns -= TW_PANEL, panel += inner * TW_PANEL, end->bias += TW_PANEL, end->y += TW_PANEL) {
    end->columns = tw_min(TW_PANEL, columns);
    if (columns > TW_LANES) tw_line(2, row, parts, panel, TW_PANEL, end);
    else tw_line(1, row, parts, panel, TW_PANEL, end);
  }
}

/* `tiles` one after another; their rows begin where `row` says. */
#define TW_TILE_CASE(ROWS)                                                     \
  case ROWS:                                                                   \
    for (; tiles > 0; tiles--, row += ROWS, end->y += ROWS * end->y_row) {     \
      tw_tile(ROWS, vectors, row, parts, panel, step, end);                    \
    }                                                                          \
    break

TW_INLINE void tw_any_tiles(const int vectors, int32_t rows, int32_t tiles, const float *const *row,
                            const tw_parts *parts, const float *panel, int64_t step, tw_tile_end *end) {
  switch (rows) {
    case 1:
      for (; tiles > 0; tiles--, row++, end->y += end->y_row) tw_line(vectors, row[0], parts, panel, step, end);
      break;
    TW_TILE_CASE(2);
    TW_TILE_CASE(3);
    TW_TILE_CASE(4);
#if TW_TILE >= 6
    TW_TILE_CASE(5);
    TW_TILE_CASE(6);
#endif
#if TW_TILE >= 7
    TW_TILE_CASE(7);
#endif
#if TW_TILE >= 8
    TW_TILE_CASE(8);
#endif
#if TW_TILE >= 10
    TW_TILE_CASE(9);
    TW_TILE_CASE(10);
#endif
    default: break;
  }
}

/* Tiles of up to TW_TILE rows and the columns of a panel that are there; what ends them moves on to behind the last. */
static inline void tw_multiply(int32_t rows, int32_t tiles, const float *const *row, const tw_parts *parts,
                               const float *panel, int64_t step, tw_tile_end *end) {
  if (end->columns > TW_LANES) tw_any_tiles(2, rows, tiles, row, parts, panel, step, end);
  else tw_any_tiles(1, rows, tiles, row, parts, panel, step, end);
}

/* All rows with one panel: as few tiles as possible, which have as many rows each, or one more. */
static inline void tw_multiply_all(int32_t rows, const float *const *row, const tw_parts *parts, const float *panel,
                                   int64_t step, tw_tile_end *end) {
  const int32_t tiles = (rows + TW_TILE - 1) / TW_TILE, least = rows / tiles, more = rows % tiles;
  tw_multiply(least + 1, more, row, parts, panel, step, end);
  tw_multiply(least, tiles - more, row + more * (least + 1), parts, panel, step, end);
}

#endif
