/* Products of panels, with a requantisation: blocks are dealt out to all cores; where there are fewer than cores, each is cut
 * along the sum. Needs TW_Y. */
#ifndef TW_PANEL_PRODUCT_H
#define TW_PANEL_PRODUCT_H

#include "panels.h"
#include "platform.h"
#include "requant_words.h"
#include "shifted_word.h"

#define TW_INLINE static inline __attribute__((always_inline))

/* What differs from row to row is the caller's: a factor, a summand, something that is added to each total. */
typedef struct {
  const uint32_t *a, *b; /* panels of one matrix */
  int32_t words, rows, columns;
  const int32_t *start; /* what sums of each column begin with */
  int32_t *partial;     /* sums of parts of blocks, where blocks are cut */
  const int32_t *mul, *add; /* of the first column; `add` may be absent */
  int32_t mul_column, add_column, mul_row, add_row;
  const int32_t *more; /* a summand for each total, or NULL */
  int32_t more_row, more_column;
  const int32_t *row_sums; /* of a, or NULL where b has no zero */
  int32_t b_zero;
  int32_t requantised;
  tw_requant requant;
  TW_Y *y;
  int32_t y_row, y_column;
} tw_product;

/* ---- results ---- */

static inline int32_t tw_one_result(tw_requant r, int32_t total, int32_t mul, int32_t add) {
  return sizeof(TW_Y) <= 2 ? tw_requantise_words(&r, total, mul, add) : tw_requantise(&r, total, mul, add);
}

/* Of one column: the same factor for all rows, of which 32 bits hold the product. */
TW_INLINE void tw_native_results(const tw_product *p, const int32_t *total, int32_t rows, int32_t mul, int32_t add, TW_Y *y) {
  const int32_t shift = p->requant.shift, low = p->requant.low, high = p->requant.high, y_row = p->y_row;
  const int32_t offset = (int32_t)((uint32_t)add + ((uint32_t)p->requant.zero_point << shift) + ((1u << shift) >> 1));
  for (; rows > 0; rows--, total += TW_PANEL, y += y_row) {
    *y = (TW_Y)tw_x_max(tw_x_min(tw_x_mac(offset, *total, mul) >> shift, high), low);
  }
}

/* The same where a product has 64 bits, of which `shift` of the lower word are dropped; ties go up. */
TW_INLINE void tw_wide_results(const tw_product *p, const int32_t *total, int32_t rows, int32_t mul, int32_t add, TW_Y *y) {
  const int32_t shift = p->requant.shift, low = p->requant.low, high = p->requant.high, y_row = p->y_row;
  const int64_t offset = add + ((int64_t)p->requant.zero_point << shift) + (int64_t)((1u << shift) >> 1);
  for (; rows > 0; rows--, total += TW_PANEL, y += y_row) {
    const int32_t value = tw_shifted_word((int64_t)*total * mul + offset, shift);
    *y = (TW_Y)tw_x_max(tw_x_min(value, high), low);
  }
}

TW_INLINE void tw_exact_results(const tw_product *p, const int32_t *total, int32_t rows, int32_t mul, int32_t add, TW_Y *y) {
  const tw_requant own = p->requant;
  const int32_t y_row = p->y_row;
  for (; rows > 0; rows--, total += TW_PANEL, y += y_row) *y = (TW_Y)tw_one_result(own, *total, mul, add);
}

TW_INLINE void tw_column_results(const tw_product *p, const int32_t *total, int32_t rows, int32_t mul, int32_t add, TW_Y *y) {
  const int32_t rounding = p->requant.rounding, shift = p->requant.shift;
  if (!p->requantised) {
    for (; rows > 0; rows--, total += TW_PANEL, y += p->y_row) *y = (TW_Y)*total;
  } else if (rounding == TW_NATIVE) {
    tw_native_results(p, total, rows, mul, add, y);
  } else if (rounding == TW_HALF_UP && shift > 0 && shift < 32 && sizeof(TW_Y) < 4) {
    tw_wide_results(p, total, rows, mul, add, y);
  } else {
    tw_exact_results(p, total, rows, mul, add, y);
  }
}

/* What rows add to the totals of a column. */
static inline void tw_add_of_rows(const tw_product *p, int32_t row, int32_t rows, int32_t column, int32_t *total) {
  for (int32_t r = 0; r < rows; r++, total += TW_PANEL) {
    uint32_t sum = (uint32_t)*total;
    if (p->row_sums) sum -= (uint32_t)(p->b_zero * p->row_sums[row + r]);
    if (p->more) sum += (uint32_t)p->more[(row + r) * p->more_row + column * p->more_column];
    *total = (int32_t)sum;
  }
}

/* Some columns of a block. */
TW_INLINE void tw_block_results(const tw_product *p, int32_t row, int32_t rows, int32_t column, int32_t columns, int32_t *total) {
  const int32_t *mul = p->mul + row * p->mul_row + column * p->mul_column;
  const int32_t *add = p->add ? p->add + row * p->add_row + column * p->add_column : 0;
  TW_Y *y = p->y + row * p->y_row + column * p->y_column;
  for (int32_t f = 0; f < columns; f++, mul += p->mul_column, y += p->y_column) {
    if (p->row_sums || p->more) tw_add_of_rows(p, row, rows, column + f, total + f);
    if (p->mul_row | p->add_row) {
      for (int32_t r = 0; r < rows; r++) {
        const int32_t summand = add ? add[r * p->add_row] : 0;
        tw_column_results(p, total + r * TW_PANEL + f, 1, mul[r * p->mul_row], summand, y + r * p->y_row);
      }
    } else {
      tw_column_results(p, total + f, rows, p->requantised ? *mul : 0, add ? *add : 0, y);
    }
    if (add) add += p->add_column;
  }
}

/* ---- blocks ---- */

/* Whole blocks from `first` to `end`, counted along the rows of panels. Cores of different tiles begin at different ones, as
 * else they would all want the same words at a time. A copy of what is known stays in registers and near them: no store of a
 * result can change it. */
static void tw_whole_blocks(const tw_product *product, int32_t first, int32_t end) {
  const tw_product own = *product, *const p = &own;
  const int32_t size = TW_PANEL * p->words, b_panels = tw_panels_of(p->columns), count = end - first;
  const int is_direct = sizeof(TW_Y) == 4 && !p->requantised && !p->row_sums && !p->more && p->y_column == 1;
  int32_t total[TW_BLOCK];
  if (count <= 0) return;
  int32_t at = first + (int32_t)((uint32_t)tw_core() / TW_TILE_CORES % (uint32_t)count);
  int32_t i = at / b_panels, j = at % b_panels;
  for (int32_t n = 0; n < count; n++) {
    const int32_t row = i * TW_PANEL, column = j * TW_PANEL;
    const int32_t rows = tw_min(p->rows - row, TW_PANEL), columns = tw_min(p->columns - column, TW_PANEL);
    const uint32_t *const a = p->a + i * size, *const b = p->b + j * size;
    if (is_direct && rows + columns == 2 * TW_PANEL) {
      tw_block(a, b, p->words, p->start + column, (int32_t *)(void *)(p->y + row * p->y_row + column), p->y_row);
    } else {
      tw_block(a, b, p->words, p->start + column, total, TW_PANEL);
      tw_block_results(p, row, rows, column, columns, total);
    }
    if (++at == end) {
      at = first;
      i = at / b_panels;
      j = at % b_panels;
    } else if (++j == b_panels) {
      j = 0;
      i++;
    }
  }
}

/* This core's part of the sums of a block, then its part of the sums of parts. */
static void tw_cut_blocks(const tw_product *p, int32_t parts) {
  static const int32_t zeros[TW_PANEL] = {0, 0, 0, 0};
  const int32_t size = TW_PANEL * p->words, b_panels = tw_panels_of(p->columns), blocks = tw_panels_of(p->rows) * b_panels;
  const int32_t core = tw_core();
  if (core < blocks * parts) {
    const int32_t block = core / parts, part = core % parts, i = block / b_panels, j = block % b_panels;
    const int32_t first = part * p->words / parts, end = (part + 1) * p->words / parts;
    const uint32_t *const a = p->a + i * size + TW_PANEL * first, *const b = p->b + j * size + TW_PANEL * first;
    tw_block(a, b, end - first, part ? zeros : p->start + j * TW_PANEL, p->partial + core * TW_BLOCK, TW_PANEL);
  }
  tw_barrier();
  const tw_share mine = tw_share_of(blocks * TW_BLOCK);
  for (int32_t one = mine.first; one < mine.end; one++) {
    const int32_t block = one / TW_BLOCK, at = one % TW_BLOCK;
    const int32_t row = block / b_panels * TW_PANEL + at / TW_PANEL, column = block % b_panels * TW_PANEL + at % TW_PANEL;
    if (row >= p->rows || column >= p->columns) continue;
    const int32_t *const partial = p->partial + block * parts * TW_BLOCK + at;
    uint32_t sum = 0;
    for (int32_t part = 0; part < parts; part++) sum += (uint32_t)partial[part * TW_BLOCK];
    int32_t total = (int32_t)sum;
    tw_block_results(p, row, 1, column, 1, &total);
  }
}

/* All blocks, of one matrix. */
static inline void tw_blocks(const tw_product *p) {
  const int32_t blocks = tw_panels_of(p->rows) * tw_panels_of(p->columns), parts = tw_parts_of(blocks, p->words, TW_CORES);
  const tw_share mine = tw_share_of(blocks);
  if (parts > 1) {
    tw_cut_blocks(p, parts);
  } else {
    tw_whole_blocks(p, mine.first, mine.end);
  }
}

#endif
