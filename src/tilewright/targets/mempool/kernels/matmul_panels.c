/* Matrix product of 8-bit integers, int32 totals, optionally requantised; all cores together. Both operands are copied into
 * panels, of which each core multiplies some. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_panels
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "matmul.h"
#include "panel_product.h"

/* Where the matrices of a batch begin. */
static tw_batch find_batch(const tw_matmul_params *p, int32_t number) {
  tw_batch batch = {{0}, 0, 0, 0, 0};
  for (int32_t axis = p->rank - 1; axis >= 0; axis--) {
    const int32_t next = number / p->size[axis], at = number - next * p->size[axis];
    batch.a += at * p->stride_a[axis];
    batch.b += at * p->stride_b[axis];
    batch.c += at * p->stride_c[axis];
    batch.y += at * p->stride_y[axis];
    number = next;
  }
  return batch;
}

/* Rows of all matrices, which are dealt out to all cores: element e of row i of a matrix is from[i * across + e * along]. */
static void fill_a(const tw_matmul_params *p, const uint8_t *from, int32_t matrices, int32_t *sums, uint32_t *to) {
  const int32_t rows = p->rows, padded = tw_panels_of(rows) * TW_PANEL, words = tw_panel_words(p->inner);
  const tw_share mine = tw_share_of(matrices * padded);
  for (int32_t one = mine.first; one < mine.end; one++) {
    const int32_t matrix = matrices == 1 ? 0 : one / padded, row = one - matrix * padded;
    uint32_t *const place = tw_panel_row(to, one, words);
    if (row < rows) {
      tw_fill_row(place, from + find_batch(p, matrix).a + row * p->a_row, p->a_column, p->inner, TW_FLIP(TW_A));
    } else {
      tw_fill_zeros(place, words);
    }
    if (sums) sums[one] = tw_row_sum(place, words);
  }
}

/* Columns; and what their sums begin with. */
static void fill_b(const tw_matmul_params *p, const uint8_t *from, const int32_t *c, int32_t matrices, int32_t *start, uint32_t *to) {
  const int32_t columns = p->columns, padded = tw_panels_of(columns) * TW_PANEL, words = tw_panel_words(p->inner);
  const int32_t a_zero = TW_FLIPPED_ZERO(TW_A, p->a_zero), b_zero = TW_FLIPPED_ZERO(TW_B, p->b_zero);
  const tw_share mine = tw_share_of(matrices * padded);
  for (int32_t one = mine.first; one < mine.end; one++) {
    const int32_t matrix = matrices == 1 ? 0 : one / padded, column = one - matrix * padded;
    uint32_t *const place = tw_panel_row(to, one, words);
    start[one] = 0;
    if (column >= columns) {
      tw_fill_zeros(place, words);
      continue;
    }
    const tw_batch at = find_batch(p, matrix);
    tw_fill_row(place, from + at.b + column * p->b_column, p->b_row, p->inner, TW_FLIP(TW_B));
    if (a_zero) start[one] = a_zero * (p->inner * b_zero - tw_row_sum(place, words));
    if (c && !p->c_row) start[one] = (int32_t)((uint32_t)start[one] + (uint32_t)c[at.c + column * p->c_column]);
  }
}

static tw_product product_of(const tw_matmul_params *p, const int32_t *mul, const int32_t *add) {
  tw_product k = {.words = tw_panel_words(p->inner), .rows = p->rows, .columns = p->columns, .mul = mul, .add = add,
                  .mul_column = p->mul_column, .add_column = p->add_column, .mul_row = p->mul_row, .add_row = p->add_row,
                  .more_row = p->c_row, .more_column = p->c_column, .b_zero = TW_FLIPPED_ZERO(TW_B, p->b_zero),
                  .requantised = p->requantised, .requant = p->requant, .y_row = p->y_row, .y_column = p->y_column};
  return k;
}

void TW_NAME(const tw_matmul_params *p, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const int32_t matrices = tw_matrices(p);
  tw_product k = product_of(p, mul, add);
  const int32_t words = k.words, a_panels = tw_panels_of(p->rows), b_panels = tw_panels_of(p->columns);
  const int32_t a_rows = matrices * a_panels * TW_PANEL, b_rows = matrices * b_panels * TW_PANEL;
  if (a_rows == 0 || b_rows == 0 || words == 0) return;
  uint32_t *const a_place = scratch, *const b_place = a_place + a_rows * words;
  int32_t *const start = (int32_t *)(b_place + b_rows * words), *const sums = start + b_rows;
  k.partial = sums + (k.b_zero ? a_rows : 0);
  fill_a(p, (const uint8_t *)a, matrices, k.b_zero ? sums : 0, a_place);
  fill_b(p, (const uint8_t *)b, c, matrices, start, b_place);
  tw_barrier();
  const int32_t blocks = a_panels * b_panels, parts = matrices == 1 ? tw_parts_of(blocks, words, TW_CORES) : 1;
  const tw_share mine = tw_share_of(matrices * blocks);
  for (int32_t matrix = parts > 1 ? 0 : mine.first / blocks; matrix < matrices; matrix++) {
    const tw_batch at = find_batch(p, matrix);
    k.a = a_place + matrix * a_panels * TW_PANEL * words;
    k.b = b_place + matrix * b_panels * TW_PANEL * words;
    k.start = start + matrix * b_panels * TW_PANEL;
    k.row_sums = k.b_zero ? sums + matrix * a_panels * TW_PANEL : 0;
    k.more = c && p->c_row ? c + at.c : 0;
    k.y = y + at.y;
    const int32_t before = matrix * blocks;
    if (parts > 1) {
      tw_cut_blocks(&k, parts);
    } else if (before >= mine.end) {
      break;
    } else {
      tw_whole_blocks(&k, tw_max(mine.first - before, 0), tw_min(mine.end - before, blocks));
    }
  }
}
