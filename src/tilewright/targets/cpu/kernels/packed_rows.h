/* Rows times panels where rows are copied first, TW_CHUNK elements of each at a time: their places are constants then,
 * which leaves registers for more rows; a panel's part stays in a near cache while all rows meet it, and the next part is
 * fetched meanwhile. */
#ifndef TW_PACKED_ROWS_H
#define TW_PACKED_ROWS_H

#include "panels.h"
#include "panels_sizes.h"

/* Rows at a time: their sums, a row of the panel and a factor fill the registers. */
#if defined(TW_ANY_LENGTH)
#define TW_PACKED_TILE 7
#elif TW_VECTOR_BYTES == 64
#define TW_PACKED_TILE 14
#elif TW_VECTOR_BYTES == 32
#define TW_PACKED_TILE 6
#else
#define TW_PACKED_TILE 4
#endif

enum { TW_PANELS_AT_A_TIME = 16 }; /* whose results stay in the level-2 cache until all chunks of the rows are summed */
#define TW_SECOND_CACHE 2          /* as __builtin_prefetch says it */

/* Some rows and what they consist of. */
typedef struct {
  const float *const *row;
  int32_t rows, inner;
  tw_parts parts;
} tw_rows;

/* A part of a panel, `length` rows of it that are `row` apart, and where the next one begins: `step` of its elements are
 * asked for with each row of this one. */
typedef struct {
  const float *at, *next;
  int32_t length, row, step;
} tw_panel_part;

/* `length` elements of all rows from `first` on. */
static inline void tw_pack_rows(const tw_rows *x, int32_t first, int32_t length, float *to) {
  const tw_parts parts = x->parts;
  for (int32_t r = 0; r < x->rows; r++, to += TW_PACKED_PITCH) {
    int32_t part = first / parts.length, skipped = first % parts.length;
    for (int32_t done = 0, count; done < length; done += count, part++, skipped = 0) {
      count = tw_min(parts.length - skipped, length - done);
      memcpy(to + done, x->row[r] + parts.at[part] + skipped, (size_t)count * sizeof *to);
    }
  }
}

/* `rows` and `vectors` are constants. */
TW_INLINE void tw_packed_tile(const int rows, const int vectors, const float *x, const tw_panel_part *part,
                              const tw_tile_end *end) {
#if defined(TW_ANY_LENGTH)
  const int32_t at = 0;
  const tw_parts parts = {1, part->length, &at};
  const float *from[TW_PACKED_TILE];
  TW_UNROLL for (int r = 0; r < rows; r++) from[r] = x + r * TW_PACKED_PITCH;
  tw_tile(rows, vectors, from, &parts, part->at, part->row, end);
#else
  tw_vector sum[TW_PACKED_TILE][2];
  const float *panel = part->at, *next = part->next;
  const int32_t length = part->length;
  const int64_t row = part->row, step = part->step;
  tw_begin_tile(rows, vectors, sum, end);
  for (int32_t k = 0; k < length; k++, panel += row, next += step) {
    tw_vector w[2];
    __builtin_prefetch(next, 0, TW_SECOND_CACHE);
    TW_UNROLL for (int v = 0; v < vectors; v++) w[v] = tw_load(panel + v * TW_LANES);
    TW_UNROLL for (int r = 0; r < rows; r++) {
      const float factor = x[r * TW_PACKED_PITCH + k];
      TW_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += w[v] * factor;
    }
  }
  tw_end_tile(rows, vectors, sum, end);
#endif
}

#define TW_PACKED_CASE(ROWS)                                                                          \
  case ROWS:                                                                                          \
    for (; tiles > 0; tiles--, x += ROWS * TW_PACKED_PITCH, end->y += ROWS * end->y_row) {            \
      tw_packed_tile(ROWS, vectors, x, part, end);                                                    \
      part->next += part->length * part->step;                                                        \
    }                                                                                                 \
    break

TW_INLINE void tw_packed_tiles(const int vectors, int32_t rows, int32_t tiles, const float *x, tw_panel_part *part,
                               tw_tile_end *end) {
  switch (rows) {
    TW_PACKED_CASE(1);
    TW_PACKED_CASE(2);
    TW_PACKED_CASE(3);
    TW_PACKED_CASE(4);
#if TW_PACKED_TILE >= 6
    TW_PACKED_CASE(5);
    TW_PACKED_CASE(6);
#endif
#if TW_PACKED_TILE >= 7
    TW_PACKED_CASE(7);
#endif
#if TW_PACKED_TILE >= 14
    TW_PACKED_CASE(8);
    TW_PACKED_CASE(9);
    TW_PACKED_CASE(10);
    TW_PACKED_CASE(11);
    TW_PACKED_CASE(12);
    TW_PACKED_CASE(13);
    TW_PACKED_CASE(14);
#endif
    default: break;
  }
}

static inline void tw_multiply_packed(int32_t rows, int32_t tiles, const float *x, tw_panel_part *part,
                                      tw_tile_end *end) {
  if (end->columns > TW_LANES) tw_packed_tiles(2, rows, tiles, x, part, end);
  else tw_packed_tiles(1, rows, tiles, x, part, end);
}

/* All packed rows with a part of a panel: as few tiles as possible, which have as many rows each, or one more. */
static inline void tw_multiply_all_packed(int32_t rows, const float *x, tw_panel_part *part, tw_tile_end *end) {
  const int32_t tiles = (rows + TW_PACKED_TILE - 1) / TW_PACKED_TILE, least = rows / tiles, more = rows % tiles;
  part->step = (TW_PANEL + tiles - 1) / tiles;
  tw_multiply_packed(least + 1, more, x, part, end);
  tw_multiply_packed(least, tiles - more, x + more * (least + 1) * TW_PACKED_PITCH, part, end);
}

/* Some columns of results, as many as there are panels, of one chunk of all rows. */
static inline void tw_packed_chunk(const tw_rows *x, const float *packed, const float *panel, int32_t length,
                                   int32_t columns, tw_tile_end end) {
  float *const y = end.y;
  const int64_t panel_size = (int64_t)x->inner * TW_PANEL;
  for (int32_t first = 0; first < columns; first += TW_PANEL, panel += panel_size) {
    tw_panel_part part = {panel, first + TW_PANEL < columns ? panel + panel_size : panel, length, TW_PANEL, 0};
    end.y = y + first;
    end.columns = tw_min(TW_PANEL, columns - first);
    tw_multiply_all_packed(x->rows, packed, &part, &end);
    if (end.bias) end.bias += TW_PANEL;
  }
}

/* All rows with all panels. `packed` is working memory for TW_PACKED_PITCH elements of each row. */
static inline void tw_packed_product(const tw_rows *x, const float *w, const float *bias, int32_t columns,
                                     const tw_activation *activation, float *packed, float *y, int64_t y_row) {
  const int32_t most = TW_PANELS_AT_A_TIME * TW_PANEL;
  const tw_bounds unbounded = {0, 0, 0.0f, 0.0f}, bounds = tw_bounds_of(activation);
  for (int32_t column = 0; column < columns; column += most) {
    const int32_t some = tw_min(most, columns - column);
    for (int32_t first = 0; first < x->inner; first += TW_CHUNK) {
      const int32_t length = tw_min(TW_CHUNK, x->inner - first);
      const int is_last = first + length == x->inner;
      const tw_tile_end end = {first ? 0 : bias + column, is_last ? bounds : unbounded, y + column, y_row, 0};
      if (column == 0 || x->inner > TW_CHUNK) tw_pack_rows(x, first, length, packed);
      tw_packed_chunk(x, packed, w + (int64_t)column * x->inner + first * TW_PANEL, length, some, end);
    }
    for (int32_t r = 0; r < x->rows && activation->kind > TW_CLAMP; r++) {
      tw_activate(activation, y + r * y_row + column, some, 1);
    }
  }
}

#endif
