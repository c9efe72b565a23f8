/* y = softmax(scale * q k') v of floats, over the keys that each query sees. The scores of four queries are all that is
 * ever stored. Where many queries meet the same keys, those are stored column by column first. */
#include "fusedattention.h"

#include "attention_blocks.h"
#include "fast_exp.h"
#include "portable_dots.h"
#include "sums.h"

#ifndef TW_NAME
#define TW_NAME tw_fusedattention
#endif

#define TIMES(x, y) ((x) * (y))

TW_DEFINE_BLOCK(multiply_rows, TW_ROWS, TW_COLUMNS, float, float, float, TIMES)
TW_DEFINE_BLOCK(multiply_row, 1, TW_COLUMNS, float, float, float, TIMES)
TW_DEFINE_BLOCK(multiply_few_of_rows, TW_ROWS, TW_FEW_COLUMNS, float, float, float, TIMES)
TW_DEFINE_FEW(multiply_few, float, float, float, TIMES)

/* Working memory: four rows of scores, then keys column by column, so many in a row. */
typedef struct {
  float *scores;
  float *panel;
  int32_t pitch;
} memory;

static void load_panel(const tw_attention_rows *r, const float *k, const memory *m) {
  const int32_t step = r->groups * r->length;
  for (int32_t d = 0; d < r->length; d++) {
    float *const to = m->panel + d * m->pitch;
    for (int32_t s = 0; s < r->keys; s++) to[s] = k[s * step + d];
    for (int32_t s = r->keys; s < m->pitch; s++) to[s] = 0.0f;
  }
}

/* Products of up to TW_ROWS queries with the keys that the last one sees. */
static void multiply(const tw_fusedattention_params *p, const memory *m, const float *q, const float *k, int32_t rows,
                     int32_t seen) {
  const int32_t length = p->rows.length, step = p->rows.groups * length, q_row = step * p->rows.repeat;
  if (!tw_needs_panel(&p->rows)) {
    for (int32_t r = 0; r < rows; r++) {
      for (int32_t s = 0; s < seen; s++) m->scores[r * m->pitch + s] = tw_dot(q + r * q_row, k + s * step, length);
    }
    return;
  }
  for (int32_t s = 0; s < seen; s += TW_COLUMNS) {
    float total[TW_ROWS][TW_COLUMNS];
    if (rows == TW_ROWS) multiply_rows(q, q_row, m->panel + s, m->pitch, length, total);
    for (int32_t r = 0; r < rows; r++) {
      if (rows != TW_ROWS) multiply_row(q + r * q_row, 0, m->panel + s, m->pitch, length, total + r);
      for (int32_t i = 0; i < TW_COLUMNS; i++) m->scores[r * m->pitch + s + i] = total[r][i];
    }
  }
}

static void share_row(float scale, int32_t seen, float *row) {
  for (int32_t s = 0; s < seen; s++) row[s] *= scale;
  const float largest = tw_largest(row, seen);
  for (int32_t s = 0; s < seen; s++) row[s] = tw_exp(row[s] - largest);
  const float unit = 1.0f / tw_sum(row, seen);
  for (int32_t s = 0; s < seen; s++) row[s] *= unit;
}

/* Some columns of some rows of the result. */
static void store(const float *total, int32_t rows, int32_t columns, float *y, int32_t y_row) {
  for (int32_t i = 0; i < rows; i++) {
    for (int32_t c = 0; c < columns; c++) y[i * y_row + c] = total[i * columns + c];
  }
}

/* Blocks of all rows at once, as far as there are four and columns enough; then row by row. */
static void mix(const tw_attention_rows *r, const memory *m, const float *v, int32_t rows, int32_t seen, float *y) {
  const int32_t width = r->width, v_row = r->groups * width, y_row = v_row * r->repeat;
  int32_t e = 0;
  for (; rows == TW_ROWS && e + TW_COLUMNS <= width; e += TW_COLUMNS) {
    float total[TW_ROWS][TW_COLUMNS];
    multiply_rows(m->scores, m->pitch, v + e, v_row, seen, total);
    store(total[0], rows, TW_COLUMNS, y + e, y_row);
  }
  for (; rows == TW_ROWS && e + TW_FEW_COLUMNS <= width; e += TW_FEW_COLUMNS) {
    float total[TW_ROWS][TW_FEW_COLUMNS];
    multiply_few_of_rows(m->scores, m->pitch, v + e, v_row, seen, total);
    store(total[0], rows, TW_FEW_COLUMNS, y + e, y_row);
  }
  for (int32_t i = 0; e < width && i < rows; i++) {
    multiply_few(m->scores + i * m->pitch, v + e, v_row, seen, width - e, y + i * y_row + e);
  }
}

/* Up to TW_ROWS queries of a head. */
static void block(const tw_fusedattention_params *p, const memory *m, const float *q, const float *k, const float *v,
                  const int32_t *position, int32_t query, int32_t rows, float *y) {
  const int32_t most = tw_keys_seen(&p->rows, query + rows - 1, position);
  multiply(p, m, q, k, rows, most);
  for (int32_t i = 0; i < rows; i++) {
    const int32_t seen = tw_keys_seen(&p->rows, query + i, position);
    float *const row = m->scores + i * m->pitch;
    share_row(p->scale, seen, row);
    for (int32_t s = seen; s < most; s++) row[s] = 0.0f;
  }
  mix(&p->rows, m, v, rows, most, y);
}

void TW_NAME(const tw_fusedattention_params *params, const float *q, const float *k, const float *v,
             const int32_t *position, float *y, void *scratch) {
  const tw_attention_rows r = params->rows;
  const int32_t heads = r.groups * r.repeat, pitch = tw_panel_keys(r.keys);
  const memory m = {scratch, (float *)scratch + TW_ROWS * pitch, pitch};
  for (int32_t pair = 0; pair < r.batch * r.groups; pair++) {
    const int32_t b = pair / r.groups, g = pair % r.groups;
    const float *const keys = k + (b * r.keys * r.groups + g) * r.length;
    const float *const values = v + (b * r.keys * r.groups + g) * r.width;
    if (tw_needs_panel(&r)) load_panel(&r, keys, &m);
    for (int32_t h = g * r.repeat; h < (g + 1) * r.repeat; h++) {
      for (int32_t t = 0; t < r.queries; t += TW_ROWS) {
        const int32_t row = (b * r.queries + t) * heads + h;
        block(params, &m, q + row * r.length, keys, values, position, t, tw_min(TW_ROWS, r.queries - t),
              y + row * r.width);
      }
    }
  }
}
