/* Matrix product of 8-bit integers, int32 totals, optionally requantised; all cores together. Both operands are copied into
 * panels, of which each core multiplies some. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_panels
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)

#include "matmul.h"
#include "panels.h"
#include "requant_words.h"

typedef struct {
  const tw_matmul_params *p;
  const int32_t *c, *mul, *add;
  const int32_t *a_sums, *b_sums; /* of rows and columns; NULL where nothing depends on them */
  TW_Y *y;
} work;

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

static inline TW_Y result(const work *k, int32_t total, int32_t mul, int32_t add) {
  if (!k->p->requantised) return (TW_Y)total;
  return (TW_Y)(sizeof(TW_Y) <= 2 ? tw_requantise_words(&k->p->requant, total, mul, add)
                                  : tw_requantise(&k->p->requant, total, mul, add));
}

static void finish_one(const void *work_, int32_t matrix, int32_t row, int32_t column, int32_t total) {
  const work *const k = work_;
  const tw_matmul_params *const p = k->p;
  if (row >= p->rows || column >= p->columns) return;
  const tw_batch at = find_batch(p, matrix);
  const int32_t panels_a = (p->rows + TW_PANEL - 1) / TW_PANEL, panels_b = (p->columns + TW_PANEL - 1) / TW_PANEL;
  uint32_t sum = (uint32_t)total + (uint32_t)(p->inner * p->a_zero * p->b_zero);
  if (k->a_sums) sum -= (uint32_t)(p->b_zero * k->a_sums[matrix * panels_a * TW_PANEL + row]);
  if (k->b_sums) sum -= (uint32_t)(p->a_zero * k->b_sums[matrix * panels_b * TW_PANEL + column]);
  if (k->c) sum += (uint32_t)k->c[at.c + row * p->c_row + column * p->c_column];
  const int32_t mul = k->mul ? k->mul[row * p->mul_row + column * p->mul_column] : 0;
  const int32_t add = k->add ? k->add[row * p->add_row + column * p->add_column] : 0;
  k->y[at.y + row * p->y_row + column * p->y_column] = result(k, (int32_t)sum, mul, add);
}

/* Four columns of a block, with what they have in common looked up once. */
static void finish_block(const void *work_, int32_t matrix, int32_t i, int32_t j, const int32_t *total) {
  const work *const k = work_;
  const tw_matmul_params *const p = k->p;
  const int32_t row = i * TW_PANEL, rows = tw_min(p->rows - row, TW_PANEL), y_row = p->y_row;
  const tw_batch at = find_batch(p, matrix);
  const int32_t panels_a = (p->rows + TW_PANEL - 1) / TW_PANEL, panels_b = (p->columns + TW_PANEL - 1) / TW_PANEL;
  for (int32_t f = 0; f < TW_PANEL; f++) {
    const int32_t column = j * TW_PANEL + f;
    if (column >= p->columns) break;
    uint32_t start = (uint32_t)(p->inner * p->a_zero * p->b_zero);
    if (k->b_sums) start -= (uint32_t)(p->a_zero * k->b_sums[matrix * panels_b * TW_PANEL + column]);
    const int32_t *const c = k->c ? k->c + at.c + row * p->c_row + column * p->c_column : 0;
    const int32_t *const mul = k->mul ? k->mul + row * p->mul_row + column * p->mul_column : 0;
    const int32_t *const add = k->add ? k->add + row * p->add_row + column * p->add_column : 0;
    TW_Y *y = k->y + at.y + row * y_row + column * p->y_column;
    int32_t factor = mul ? mul[0] : 0, summand = add ? add[0] : 0;
    for (int32_t r = 0; r < rows; r++, y += y_row) {
      uint32_t sum = start + (uint32_t)total[r * TW_PANEL + f];
      if (k->a_sums) sum -= (uint32_t)(p->b_zero * k->a_sums[matrix * panels_a * TW_PANEL + row + r]);
      if (c) sum += (uint32_t)c[r * p->c_row];
      if (p->mul_row) factor = mul[r * p->mul_row];
      if (p->add_row && add) summand = add[r * p->add_row];
      *y = result(k, (int32_t)sum, factor, summand);
    }
  }
}

/* Rows of panels, which are dealt out to all cores: element e of row i of a matrix is from[i * across + e * along]. */
static void fill(const tw_matmul_params *p, const uint8_t *from, int is_a, int32_t matrices, uint32_t *to) {
  const int32_t rows = is_a ? p->rows : p->columns, across = is_a ? p->a_row : p->b_column, along = is_a ? p->a_column : p->b_row;
  const int32_t padded = (rows + TW_PANEL - 1) / TW_PANEL * TW_PANEL, words = (p->inner + 3) / 4;
  const tw_share mine = tw_share_of(matrices * padded);
  for (int32_t one = mine.first; one < mine.end; one++) {
    const int32_t matrix = one / padded, row = one % padded;
    const tw_batch at = find_batch(p, matrix);
    uint32_t *const place = to + one / TW_PANEL * TW_PANEL * words + one % TW_PANEL;
    if (row < rows) {
      tw_fill_row(place, from + (is_a ? at.a : at.b) + row * across, along, p->inner);
    } else {
      tw_fill_zeros(place, words);
    }
  }
}

void TW_NAME(const tw_matmul_params *p, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  int32_t matrices = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) matrices *= p->size[axis];
  const int32_t words = (p->inner + 3) / 4;
  const int32_t a_panels = (p->rows + TW_PANEL - 1) / TW_PANEL, b_panels = (p->columns + TW_PANEL - 1) / TW_PANEL;
  const int32_t a_rows = matrices * a_panels * TW_PANEL, b_rows = matrices * b_panels * TW_PANEL;
  if (a_rows == 0 || b_rows == 0 || words == 0) return;
  uint32_t *const a_place = scratch, *const b_place = a_place + a_rows * words;
  int32_t *const a_sums = (int32_t *)(b_place + b_rows * words), *const b_sums = a_sums + (p->b_zero ? a_rows : 0);
  int32_t *const partial = b_sums + (p->a_zero ? b_rows : 0);
  fill(p, (const uint8_t *)a, 1, matrices, a_place);
  fill(p, (const uint8_t *)b, 0, matrices, b_place);
  tw_barrier();
  if (p->b_zero) tw_row_sums(a_place, a_rows, words, TW_A_SIGNED, a_sums);
  if (p->a_zero) tw_row_sums(b_place, b_rows, words, TW_B_SIGNED, b_sums);
  if (p->a_zero || p->b_zero) tw_barrier();
  const work k = {p, c, mul, add, p->b_zero ? a_sums : 0, p->a_zero ? b_sums : 0, y};
  const tw_panels panels = {a_place, b_place, a_panels, b_panels, words, matrices, partial};
  tw_blocks(&panels, &k, finish_block, finish_one);
}
