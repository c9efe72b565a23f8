/* y = softmax(scale * q k') v of floats, over the keys that each query sees. The scores of a few queries are all that is
 * ever stored. Keys are copied as panels; values are panels where they are. */
#include "fusedattention.h"

#include "panels.h"
#include "vector_shares.h"

#ifndef TW_NAME
#define TW_NAME tw_attention_panels
#endif

/* Working memory: zeros that sums start with, scores of TW_TILE queries, keys as panels, and the last columns of
 * values as one. */
typedef struct {
  float *zeros, *scores, *keys, *values;
  int32_t pitch; /* of scores */
} memory;

static const tw_bounds unbounded = {0, 0, 0.0f, 0.0f};

/* Rows of some length that are `step` apart, as panels of TW_PANEL rows each. */
static void load_keys(const float *k, int64_t step, int32_t keys, int32_t length, float *panels) {
  for (int32_t first = 0; first < keys; first += TW_PANEL, panels += length * TW_PANEL) {
    for (int32_t j = 0; j < TW_PANEL; j++) {
      const float *const from = k + (first + j) * step;
      for (int32_t d = 0; d < length; d++) panels[d * TW_PANEL + j] = first + j < keys ? from[d] : 0.0f;
    }
  }
}

/* The last columns of values, which are less than a panel. */
static void load_values(const float *v, int64_t step, int32_t keys, int32_t columns, float *panel) {
  for (int32_t s = 0; s < keys; s++, panel += TW_PANEL) {
    for (int32_t j = 0; j < TW_PANEL; j++) panel[j] = j < columns ? v[s * step + j] : 0.0f;
  }
}

/* Scores of some queries with the keys that the last one sees. */
static void score(const memory *m, const float *const *q, int32_t rows, int32_t length, int32_t seen) {
  const int32_t at = 0;
  const tw_parts parts = {1, length, &at};
  for (int32_t first = 0; first < seen; first += TW_PANEL) {
    tw_tile_end end = {m->zeros, unbounded, m->scores + first, m->pitch, TW_PANEL};
    tw_multiply_all(rows, q, &parts, m->keys + (int64_t)first * length, TW_PANEL, &end);
  }
}

/* Shares of some queries times the values. */
static void mix(const tw_attention_rows *r, const memory *m, const float *v, int32_t rows, int32_t seen, float *y) {
  const int32_t at = 0;
  const int64_t v_row = (int64_t)r->groups * r->width, y_row = v_row * r->repeat;
  const tw_parts parts = {1, seen, &at};
  const float *row[TW_TILE];
  for (int32_t i = 0; i < rows; i++) row[i] = m->scores + i * m->pitch;
  for (int32_t first = 0; first < r->width; first += TW_PANEL) {
    const int32_t columns = tw_min(TW_PANEL, r->width - first);
    const int is_panel = columns == TW_PANEL;
    tw_tile_end end = {m->zeros, unbounded, y + first, y_row, columns};
    tw_multiply_all(rows, row, &parts, is_panel ? v + first : m->values, is_panel ? v_row : TW_PANEL, &end);
  }
}

/* Up to TW_TILE queries of a head. */
static void block(const tw_fusedattention_params *p, const memory *m, const float *q, const float *v,
                  const int32_t *position, int32_t query, int32_t rows, float *y) {
  const int64_t q_row = (int64_t)p->rows.groups * p->rows.repeat * p->rows.length;
  const int32_t most = tw_keys_seen(&p->rows, query + rows - 1, position);
  const float *row[TW_TILE];
  for (int32_t i = 0; i < rows; i++) row[i] = q + i * q_row;
  score(m, row, rows, p->rows.length, most);
  for (int32_t i = 0; i < rows; i++) {
    const int32_t seen = tw_keys_seen(&p->rows, query + i, position);
    float *const row_of_scores = m->scores + i * m->pitch;
    tw_vector_shares(row_of_scores, p->scale, seen, row_of_scores);
    for (int32_t s = seen; s < most; s++) row_of_scores[s] = 0.0f;
  }
  mix(&p->rows, m, v, rows, most, y);
}

void TW_NAME(const tw_fusedattention_params *params, const float *q, const float *k, const float *v,
             const int32_t *position, float *y, void *scratch) {
  const tw_attention_rows r = params->rows;
  const int32_t heads = r.groups * r.repeat, pitch = (r.keys + TW_PANEL - 1) / TW_PANEL * TW_PANEL;
  memory m = {scratch, (float *)scratch + TW_PANEL, 0, 0, pitch};
  m.keys = m.scores + TW_TILE * pitch;
  m.values = m.keys + (int64_t)pitch * r.length;
  memset(m.zeros, 0, TW_PANEL * sizeof *m.zeros);
  for (int32_t pair = 0; pair < r.batch * r.groups; pair++) {
    const int32_t b = pair / r.groups, g = pair % r.groups, rest = r.width % TW_PANEL;
    const float *const keys = k + ((int64_t)b * r.keys * r.groups + g) * r.length;
    const float *const values = v + ((int64_t)b * r.keys * r.groups + g) * r.width;
    const int32_t seen = tw_keys_seen(&r, r.queries - 1, position);
    load_keys(keys, (int64_t)r.groups * r.length, seen, r.length, m.keys);
    if (rest) load_values(values + r.width - rest, (int64_t)r.groups * r.width, seen, rest, m.values);
    for (int32_t h = g * r.repeat; h < (g + 1) * r.repeat; h++) {
      for (int32_t t = 0; t < r.queries; t += TW_TILE) {
        const int64_t row = ((int64_t)b * r.queries + t) * heads + h;
        block(params, &m, q + row * r.length, values, position, t, tw_min(TW_TILE, r.queries - t), y + row * r.width);
      }
    }
  }
}
