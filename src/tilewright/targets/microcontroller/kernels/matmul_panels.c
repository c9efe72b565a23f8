/* Matrix product of bytes, both computed, in any order of their axes; int32 totals, optionally requantised. Some
 * columns of b are interleaved by fours, then four rows of a, so that one pointer walks along four of each. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_panels
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_X TW_A
#define TW_FILTER TW_B

#include "matmul_blocked_sizes.h"

#include "block_products.h"
#include "requant_row.h"

/* The current matrices, and some columns of b. */
typedef struct {
  const tw_matmul_params *p;
  const int32_t *c, *mul, *add;
  TW_Y *y;
  TW_B *blocks;   /* the columns, by fours */
  int32_t *start; /* what the totals of each begin with */
  TW_A *panel;    /* four rows */
  int32_t first, columns;
  tw_way way;
} product;

/* Four columns, of which the last ones may be missing: as blocks, with their sums. */
static void interleave_columns(const tw_matmul_params *p, const TW_B *b, int32_t columns, TW_B *block, int32_t *sum) {
  for (int32_t i = 0; i < TW_BLOCK; i++) {
    const TW_B *from = b + tw_min(i, columns - 1) * p->b_column;
    int32_t total = 0;
    for (int32_t k = 0; k < p->inner; k++, from += p->b_row) {
      block[k * TW_BLOCK + i] = *from;
      total += *from;
    }
    sum[i] = total;
  }
}

/* The chosen columns, and where their totals begin: c, if all rows have the same, and what zero points add. */
static void prepare_columns(product *m, const TW_B *b) {
  const tw_matmul_params *const p = m->p;
  int is_small = p->inner < 1 << 12 && !(m->c && p->c_row);
  for (int32_t column = 0; column < m->columns; column += TW_BLOCK) {
    int32_t sum[TW_BLOCK];
    const int32_t left = m->columns - column;
    interleave_columns(p, b + (m->first + column) * p->b_column, left, m->blocks + column * p->inner, sum);
    for (int32_t i = 0; i < TW_BLOCK; i++) {
      const int32_t own = m->first + column + tw_min(i, left - 1);
      const uint32_t c = m->c && !p->c_row ? (uint32_t)m->c[own * p->c_column] : 0;
      const uint32_t zeros = (uint32_t)p->a_zero * ((uint32_t)sum[i] - (uint32_t)(p->inner * p->b_zero));
      m->start[column + i] = (int32_t)(c - zeros);
      is_small = is_small && m->start[column + i] < 1 << 28 && m->start[column + i] > -(1 << 28);
    }
  }
  /* Where factors differ from row to row, they are looked at one by one. */
  if (p->requantised && (p->mul_row || (m->add && p->add_row))) {
    m->way = TW_ANY_WAY;
    return;
  }
  const int32_t *const add = m->add ? m->add + m->first * p->add_column : m->add;
  m->way = tw_way_of(p->requantised, &p->requant, add, p->add_column, m->columns, is_small);
}

/* What the zero point of b adds to all totals of a row. */
static int32_t of_row(const tw_matmul_params *p, const TW_A *a) {
  int32_t sum = 0;
  if (p->b_zero == 0) return 0;
  for (int32_t k = 0; k < p->inner; k++, a += p->a_column) sum += *a;
  return -p->b_zero * sum;
}

static void interleave_rows(const tw_matmul_params *p, const TW_A *a, TW_A *panel) {
  const TW_A *b = a + p->a_row, *c = b + p->a_row, *d = c + p->a_row;
  const int32_t step = p->a_column;
  for (int32_t k = 0; k < p->inner; k++, panel += 4, a += step, b += step, c += step, d += step) {
    panel[0] = *a, panel[1] = *b, panel[2] = *c, panel[3] = *d;
  }
}

/* Results of four columns in some rows; `more` belongs to each row. */
TW_ALWAYS void store(const product *m, int32_t row, int32_t column, int32_t rows, tw_totals total,
                     const int32_t *more) {
  const tw_matmul_params *const p = m->p;
  for (int32_t i = 0; i < TW_BLOCK && column + i < m->columns; i++) {
    const int32_t own = m->first + column + i;
    TW_Y *y = m->y + row * p->y_row + own * p->y_column;
    const int32_t *const mul = m->mul ? m->mul + own * p->mul_column : m->mul;
    const int32_t *const add = m->add ? m->add + own * p->add_column : m->add;
    tw_factor f = tw_factor_of(m->way, &p->requant, mul ? *mul : 0, add ? *add : 0);
    for (int32_t r = 0; r < rows; r++, y += p->y_row) {
      int32_t value = total[i][r] + more[r];
      if (m->c && p->c_row) {
        value = (int32_t)((uint32_t)value + (uint32_t)m->c[(row + r) * p->c_row + own * p->c_column]);
      }
      if (m->way == TW_ANY_WAY) {
        f.mul = mul[(row + r) * p->mul_row], f.add = add ? add[(row + r) * p->add_row] : 0;
      }
      tw_requantise_row(m->way, &p->requant, &f, &value, y, 1);
    }
  }
}

static void on_rows(const product *m, const TW_A *a, int32_t row, int32_t rows) {
  const tw_matmul_params *const p = m->p;
  int32_t more[4];
  for (int32_t r = 0; r < rows; r++) more[r] = of_row(p, a + r * p->a_row);
  if (rows == 4) interleave_rows(p, a, m->panel);
  for (int32_t column = 0; column < m->columns; column += TW_BLOCK) {
    tw_totals total;
    if (rows == 4) {
      tw_products_4(m->panel, 4, m->blocks + column * p->inner, p->inner, m->start + column, total);
      store(m, row, column, 4, total, more);
    } else {
      tw_products_1(a, p->a_column, m->blocks + column * p->inner, p->inner, m->start + column, total);
      store(m, row, column, 1, total, more);
    }
  }
}

void TW_NAME(const tw_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_matmul_params *const p = params;
  const int32_t chunk = tw_columns_at_a_time(p);
  int32_t *const start = scratch;
  TW_A *const panel = (TW_A *)(start + chunk);
  tw_batch at = {{0}, 0, 0, 0, 0};
  if (tw_batch_is_empty(p)) return;
  do {
    for (int32_t first = 0; first < p->columns; first += chunk) {
      product m = {p, c ? c + at.c : c, mul, add, y + at.y, (TW_B *)(panel + TW_PANEL_ROWS * p->inner), start, panel, first,
                   tw_min(chunk, p->columns - first), TW_ANY_WAY};
      prepare_columns(&m, b + at.b);
      int32_t row = 0;
      for (; row + 4 <= p->rows; row += 4) on_rows(&m, a + at.a + row * p->a_row, row, 4);
      for (; row < p->rows; row++) on_rows(&m, a + at.a + row * p->a_row, row, 1);
    }
  } while (tw_batch_next(p, &at));
}
