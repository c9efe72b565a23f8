/* Products with weights in blocks of 32 elements, of which a panel of rows lies side by side: block_layout.h says how. */
#ifndef TW_BLOCK_PANELS_H
#define TW_BLOCK_PANELS_H

#include <stddef.h>

#include "block_layout.h"
#include "block_product.h"
#include "block_rows.h"

#ifdef TW_DOT_WIDENING
#include "block_widening.h"
#else

#define TW_AHEAD 4096 /* bytes before levels are needed that they are asked for, where few rows read them */
#define TW_LINE 64    /* bytes that come at once */

/* ---- what a block is -------------------------------------------------------------------------------------------- */

typedef struct {
  tw_floats scale[2], least; /* of each half; `least` is added to what levels stand for */
} tw_scales;

TW_INLINE tw_scales tw_scales_of(const uint8_t *scales, int32_t block) {
  tw_scales s;
#if TW_SCALING == TW_PLAIN
  s.scale[0] = s.scale[1] = tw_load_halves(scales + block * TW_SCALE_BYTES);
  s.least = s.scale[0];
#elif TW_SCALING == TW_MOVED
  s.scale[0] = s.scale[1] = tw_load_halves(scales + block * TW_SCALE_BYTES);
  s.least = tw_load_halves(scales + block * TW_SCALE_BYTES + 2 * TW_PANEL);
#elif TW_SCALING == TW_SUPER
  const uint8_t *const of_eight = scales + (block >> 3) * TW_SCALE_BYTES, *const own =
      of_eight + (4 + 2 * (block & 7)) * TW_PANEL;
  s.scale[0] = s.scale[1] = tw_load_halves(of_eight) * tw_load_unsigned(own);
  s.least = -tw_load_halves(of_eight + 2 * TW_PANEL) * tw_load_unsigned(own + TW_PANEL);
#else
  const uint8_t *const of_eight = scales + (block >> 3) * TW_SCALE_BYTES, *const own =
      of_eight + (2 + 2 * (block & 7)) * TW_PANEL;
  const tw_floats all = tw_load_halves(of_eight);
  s.scale[0] = all * tw_load_signed(own);
  s.scale[1] = all * tw_load_signed(own + TW_PANEL);
  s.least = s.scale[0];
#endif
  return s;
}

/* The levels of a half block, four elements of each row at a time. */
TW_INLINE void tw_levels_of(const uint8_t *block, int half, tw_levels *w) {
#if TW_BITS == 8
  TW_UNROLL for (int i = 0; i < TW_QUADS; i++) w[i] = tw_load_levels(block + (4 * half + i) * TW_PIECE);
#else
  TW_UNROLL for (int i = 0; i < TW_QUADS; i++) {
    const tw_levels both = tw_load_levels(block + i * TW_PIECE);
    w[i] = half ? both >> 4 : both & 15;
  }
#if TW_BITS == 5
  const tw_levels upper = tw_load_levels(block + 4 * TW_PIECE);
  TW_UNROLL for (int i = 0; i < TW_QUADS; i++) {
    w[i] |= (half ? upper >> i : upper << (4 - i)) & 16;
  }
#elif TW_BITS == 6
  const tw_levels upper = tw_load_levels(block + (4 + half) * TW_PIECE);
  TW_UNROLL for (int i = 0; i < TW_QUADS; i++) {
    w[i] |= (i < 2 ? upper << (4 - 2 * i) : upper >> (2 * i - 4)) & 48;
  }
#endif
#endif
}

/* ---- a few rows: levels are unpacked as they come ----------------------------------------------------------------- */

TW_INLINE void tw_add_block(int rows, const tw_scales *s, const tw_levels (*w)[TW_QUADS], const uint8_t *record,
                            tw_floats *sums) {
  const int8_t *const a = (const int8_t *)record;
  TW_UNROLL for (int row = 0; row < rows; row++) {
    const float scale = tw_of_row(record, rows, TW_SCALE_OF_ROW, row);
    tw_ints total = tw_all_ints(tw_less_of_row(record, rows, TW_FIRST_OF_ROW, row));
    total = tw_dot_half(TW_BITS, total, w[0], a + 4 * row, 4 * rows);
    if (TW_HALVES_APART) {
      sums[row] += tw_as_floats(total) * (s->scale[0] * scale);
      total = tw_all_ints(tw_less_of_row(record, rows, TW_SECOND_OF_ROW, row));
    }
    total = tw_dot_half(TW_BITS, total, w[1], a + 4 * row + 16 * rows, 4 * rows);
    sums[row] += tw_as_floats(total) * (s->scale[1] * scale);
    if (TW_HAS_LEAST) sums[row] += s->least * tw_of_row(record, rows, TW_SUM_OF_ROW, row);
  }
}

TW_INLINE void tw_few_rows(int rows, const tw_block_product_params *p, const uint8_t *panel, const uint8_t *records,
                           const float *bias, int32_t columns, float *y) {
  const int32_t blocks = p->inner / TW_ROUNDED_BLOCK;
  const uint8_t *levels = panel + tw_scales_bytes(blocks);
  tw_floats sums[4];
  TW_UNROLL for (int row = 0; row < rows; row++) sums[row] = tw_all_floats(0.0f);
  for (int32_t block = 0; block < blocks; block++, levels += TW_LEVEL_BYTES) {
    const tw_scales s = tw_scales_of(panel, block);
    tw_levels w[2][TW_QUADS];
    TW_UNROLL for (int line = 0; line < TW_LEVEL_BYTES; line += TW_LINE) __builtin_prefetch(levels + TW_AHEAD + line);
    tw_levels_of(levels, 0, w[0]);
    tw_levels_of(levels, 1, w[1]);
    tw_add_block(rows, &s, (const tw_levels(*)[TW_QUADS])w, records + (int64_t)block * TW_ROW_BLOCK_BYTES * rows, sums);
  }
  tw_put_rows(rows, sums, bias, columns, p->columns, y);
}

/* ---- many rows: a panel is unpacked once for all of them ---------------------------------------------------------- */

/* What a panel becomes: for each block its scales as floats, [2][row] and least values, then [8][row][4] levels. */
#define TW_WIDE_SCALES (TW_HALVES_APART || TW_HAS_LEAST ? 2 : 1)
#define TW_WIDE_BYTES ((32 + 4 * TW_WIDE_SCALES) * TW_PANEL)

static void tw_unpack(const uint8_t *panel, int32_t blocks, uint8_t *wide) {
  const uint8_t *levels = panel + tw_scales_bytes(blocks);
  for (int32_t block = 0; block < blocks; block++, levels += TW_LEVEL_BYTES, wide += TW_WIDE_BYTES) {
    const tw_scales s = tw_scales_of(panel, block);
    memcpy(wide, &s.scale[0], sizeof(tw_floats));
    if (TW_HALVES_APART) memcpy(wide + TW_PIECE, &s.scale[1], sizeof(tw_floats));
    if (TW_HAS_LEAST) memcpy(wide + TW_PIECE, &s.least, sizeof(tw_floats));
    tw_levels w[TW_QUADS];
    TW_UNROLL for (int half = 0; half < 2; half++) {
      tw_levels_of(levels, half, w);
      memcpy(wide + (TW_WIDE_SCALES + 4 * half) * TW_PIECE, w, sizeof w);
    }
  }
}

TW_INLINE void tw_load_half(const uint8_t *levels, int half, tw_levels *w) {
  TW_UNROLL for (int i = 0; i < TW_QUADS; i++) w[i] = tw_load_levels(levels + (4 * half + i) * TW_PIECE);
}

/* `rows` rows and TW_TILE_PANELS panels that were unpacked, one `apart` bytes behind the other. */
TW_INLINE void tw_tile(int rows, const tw_block_product_params *p, const uint8_t *wide, int64_t apart,
                       const uint8_t *records, const float *bias, int32_t columns, float *y) {
  const int32_t blocks = p->inner / TW_ROUNDED_BLOCK;
  tw_floats sums[TW_TILE_PANELS][TW_TILE_ROWS];
  TW_UNROLL for (int panel = 0; panel < TW_TILE_PANELS; panel++) {
    TW_UNROLL for (int row = 0; row < rows; row++) sums[panel][row] = tw_all_floats(0.0f);
  }
  for (int32_t block = 0; block < blocks; block++, wide += TW_WIDE_BYTES, records += TW_ROW_BLOCK_BYTES * rows) {
    tw_ints total[TW_TILE_PANELS][TW_TILE_ROWS];
    TW_UNROLL for (int half = 0; half < 2; half++) {
      if (half == 0 || TW_HALVES_APART) {
        TW_UNROLL for (int row = 0; row < rows; row++) {
          const int kind = half ? TW_SECOND_OF_ROW : TW_FIRST_OF_ROW;
          TW_UNROLL for (int panel = 0; panel < TW_TILE_PANELS; panel++) {
            total[panel][row] = tw_all_ints(tw_less_of_row(records, rows, kind, row));
          }
        }
      }
      tw_dot_tile(TW_BITS, rows, wide + (TW_WIDE_SCALES + 4 * half) * TW_PIECE, apart,
                  (const int8_t *)records + 16 * half * rows, total);
      if (half == 0 && !TW_HALVES_APART) continue;
      TW_UNROLL for (int panel = 0; panel < TW_TILE_PANELS; panel++) {
        const float *const scales = (const float *)(const void *)(wide + panel * apart);
        const tw_floats scale = tw_load_floats(scales + (TW_HALVES_APART ? half * TW_PANEL : 0));
        TW_UNROLL for (int row = 0; row < rows; row++) {
          const float own = tw_of_row(records, rows, TW_SCALE_OF_ROW, row);
          sums[panel][row] += tw_as_floats(total[panel][row]) * (scale * own);
        }
      }
    }
    if (TW_HAS_LEAST) {
      TW_UNROLL for (int panel = 0; panel < TW_TILE_PANELS; panel++) {
        const tw_floats least = tw_load_floats((const float *)(const void *)(wide + panel * apart) + TW_PANEL);
        TW_UNROLL for (int row = 0; row < rows; row++) {
          sums[panel][row] += least * tw_of_row(records, rows, TW_SUM_OF_ROW, row);
        }
      }
    }
  }
  TW_UNROLL for (int panel = 0; panel < TW_TILE_PANELS; panel++) {
    const int32_t left = columns - panel * TW_PANEL;
    const float *const own = bias ? bias + panel * TW_PANEL : NULL;
    tw_put_rows(rows, sums[panel], own, left, p->columns, y + panel * TW_PANEL);
  }
}

/* Where one panel is left it is multiplied twice: nothing is stored of what lies behind the columns. */
static void tw_rows_of_tile(int rows, const tw_block_product_params *p, const uint8_t *wide, int64_t apart,
                            const uint8_t *records, const float *bias, int32_t columns, float *y) {
  switch (rows) {
    case TW_TILE_ROWS: tw_tile(TW_TILE_ROWS, p, wide, apart, records, bias, columns, y); return;
    case 2: tw_tile(2, p, wide, apart, records, bias, columns, y); return;
    default: tw_tile(1, p, wide, apart, records, bias, columns, y); return;
  }
}

/* ---- parts --------------------------------------------------------------------------------------------------------- */

/* Rows that are side by side, of those that are left. */
static inline int32_t tw_rows_together(int32_t left) {
  return left >= TW_TILE_ROWS ? TW_TILE_ROWS : left >= 2 ? 2 : 1;
}

static inline int32_t tw_few_together(int32_t left) { return left >= 4 ? 4 : left >= 2 ? 2 : 1; }

static void tw_product_of_few(const tw_block_product_params *p, const float *x, const uint8_t *w, const float *bias,
                              float *y, uint8_t *records, tw_share_of_product share) {
  const int64_t row_bytes = (int64_t)p->inner / TW_ROUNDED_BLOCK * TW_ROW_BLOCK_BYTES;
  for (int32_t row = 0, count; row < p->rows; row += count) {
    count = tw_few_together(p->rows - row);
    tw_round_rows(x + (int64_t)row * p->inner, p->inner, count, TW_LEVEL_ZERO, TW_HALVES_APART,
                  records + row * row_bytes);
  }
  for (int32_t panel = share.first_panel; panel < share.last_panel; panel++) {
    const int32_t column = panel * TW_PANEL, columns = tw_min(TW_PANEL, p->columns - column);
    const uint8_t *const own = w + (int64_t)panel * p->panel_bytes;
    const float *const start = bias ? bias + column : NULL;
    for (int32_t row = 0, count; row < p->rows; row += count) {
      count = tw_few_together(p->rows - row);
      const uint8_t *const side = records + row * row_bytes;
      float *const to = y + (int64_t)row * p->columns + column;
      if (count == 4) tw_few_rows(4, p, own, side, start, columns, to);
      else if (count == 2) tw_few_rows(2, p, own, side, start, columns, to);
      else tw_few_rows(1, p, own, side, start, columns, to);
    }
  }
}

static void tw_product_of_many(const tw_block_product_params *p, const float *x, const uint8_t *w, const float *bias,
                               float *y, uint8_t *records, tw_share_of_product share) {
  const int32_t blocks = p->inner / TW_ROUNDED_BLOCK, panels = share.last_panel;
  const int64_t row_bytes = (int64_t)blocks * TW_ROW_BLOCK_BYTES, apart = (int64_t)blocks * TW_WIDE_BYTES;
  const int32_t most = tw_rows_at_a_time(p->inner);
  uint8_t *const wide = records + tw_min(most, p->rows) * row_bytes;
  for (int32_t start = share.first_row; start < share.last_row; start += most) {
    const int32_t end = tw_min(start + most, share.last_row);
    for (int32_t row = start, count; row < end; row += count) {
      count = tw_rows_together(end - row);
      tw_round_rows(x + (int64_t)row * p->inner, p->inner, count, TW_LEVEL_ZERO, TW_HALVES_APART,
                    records + (row - start) * row_bytes);
    }
    for (int32_t panel = share.first_panel; panel < panels; panel += TW_TILE_PANELS) {
      const int32_t own = tw_min(TW_TILE_PANELS, panels - panel), column = panel * TW_PANEL;
      for (int32_t i = 0; i < own; i++) tw_unpack(w + (int64_t)(panel + i) * p->panel_bytes, blocks, wide + i * apart);
      for (int32_t row = start, count; row < end; row += count) {
        count = tw_rows_together(end - row);
        tw_rows_of_tile(count, p, wide, own < TW_TILE_PANELS ? 0 : apart, records + (row - start) * row_bytes,
                        bias ? bias + column : NULL, tw_min(p->columns - column, own * TW_PANEL),
                        y + (int64_t)row * p->columns + column);
      }
    }
  }
}

void TW_NAME(const tw_block_product_params *params, const float *x, const uint8_t *w, const float *bias, float *y,
             void *scratch) {
  const tw_share_of_product share = tw_own_share(params, (params->columns + TW_PANEL - 1) / TW_PANEL);
  if (params->rows <= TW_FEW_ROWS) tw_product_of_few(params, x, w, bias, y, scratch, share);
  else tw_product_of_many(params, x, w, bias, y, scratch, share);
}

#endif /* TW_DOT_WIDENING */
#endif
