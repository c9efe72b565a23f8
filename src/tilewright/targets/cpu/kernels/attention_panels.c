/* y = softmax(scale * q k') v of floats, over the keys that each query sees. The scores of a few queries are all that is
 * ever stored. Keys and values are copied as panels: where they are, those of a head lie so far apart that they take each
 * other's place in the nearest cache. A few queries read them where they are. */
#include "panels_sizes.h"

#include "panels.h"
#include "row_dots.h"
#include "turned_rows.h"
#include "vector_shares.h"

#ifndef TW_NAME
#define TW_NAME tw_attention_panels
#endif

/* Working memory: zeros that sums start with, scores of TW_TILE queries, keys and values as panels. */
typedef struct {
  float *zeros, *scores, *keys, *values;
  int32_t pitch; /* of scores */
  int32_t rows;  /* of values */
} memory;

enum { FEW_QUERIES = 4, WIDE = 8 };

static const tw_bounds unbounded = {0, 0, 0.0f, 0.0f};

/* Rows of some length that are `step` apart, as panels of TW_PANEL rows each. */
static void load_keys(const float *k, int64_t step, int32_t keys, int32_t length, float *panels) {
  for (int32_t first = 0; first < keys; first += TW_PANEL, panels += length * TW_PANEL) {
    tw_turn_rows(k + first * step, step, tw_min(TW_PANEL, keys - first), length, panels);
  }
}

/* Columns of rows that are `step` apart, as panels of TW_PANEL columns each. */
static void load_values(const float *v, int64_t step, int32_t rows, int32_t width, float *panel) {
  for (int32_t first = 0; first < width; first += TW_PANEL) {
    const int32_t columns = tw_min(TW_PANEL, width - first);
    for (int32_t s = 0; s < rows; s++, panel += TW_PANEL) {
      const float *const from = v + s * step + first;
      if (columns == TW_PANEL) {
        memcpy(panel, from, TW_PANEL * sizeof *panel);
      } else {
        for (int32_t j = 0; j < TW_PANEL; j++) panel[j] = j < columns ? from[j] : 0.0f;
      }
    }
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

/* Powers of scores of some queries times the values. */
static void mix(const tw_attention_rows *r, const memory *m, int32_t rows, int32_t seen, float *y) {
  const int32_t at = 0;
  const int64_t y_row = (int64_t)r->groups * r->repeat * r->width;
  const tw_parts parts = {1, seen, &at};
  const float *row[TW_TILE];
  for (int32_t i = 0; i < rows; i++) row[i] = m->scores + i * m->pitch;
  for (int32_t first = 0; first < r->width; first += TW_PANEL) {
    tw_tile_end end = {m->zeros, unbounded, y + first, y_row, tw_min(TW_PANEL, r->width - first)};
    tw_multiply_all(rows, row, &parts, m->values + (int64_t)first * m->rows, TW_PANEL, &end);
  }
}

/* Up to TW_TILE queries of a head. */
static void block(const tw_fusedattention_params *p, const memory *m, const float *q, const int32_t *position,
                  int32_t query, int32_t rows, float *y) {
  const int64_t q_row = (int64_t)p->rows.groups * p->rows.repeat * p->rows.length;
  const int32_t most = tw_keys_seen(&p->rows, query + rows - 1, position);
  const float *row[TW_TILE];
  float unit[TW_TILE];
  for (int32_t i = 0; i < rows; i++) row[i] = q + i * q_row;
  score(m, row, rows, p->rows.length, most);
  for (int32_t i = 0; i < rows; i++) {
    const int32_t seen = tw_keys_seen(&p->rows, query + i, position);
    float *const row_of_scores = m->scores + i * m->pitch;
    unit[i] = tw_vector_powers(row_of_scores, p->scale, seen);
    for (int32_t s = seen; s < most; s++) row_of_scores[s] = 0.0f;
  }
  mix(&p->rows, m, rows, most, y);
  for (int32_t i = 0; i < rows; i++, y += (int64_t)p->rows.groups * p->rows.repeat * p->rows.width) {
    for (int32_t j = 0; j < p->rows.width; j++) y[j] *= unit[i];
  }
}

/* Rows times their shares, summed: some vectors of columns. */
TW_INLINE void mix_vectors(int vectors, const float *share, const float *v, int64_t step, int32_t rows, float *y) {
  tw_vector sum[WIDE];
  TW_UNROLL for (int i = 0; i < vectors; i++) sum[i] = tw_all(0.0f);
  for (int32_t s = 0; s < rows; s++, v += step) {
    TW_UNROLL for (int i = 0; i < vectors; i++) sum[i] += share[s] * tw_load(v + i * TW_LANES);
  }
  TW_UNROLL for (int i = 0; i < vectors; i++) tw_store(y + i * TW_LANES, sum[i]);
}

static void mix_rows(const float *share, const float *v, int64_t step, int32_t rows, int32_t width, float *y) {
  int32_t done = 0;
  for (; done + WIDE * TW_LANES <= width; done += WIDE * TW_LANES) mix_vectors(WIDE, share, v + done, step, rows, y + done);
  for (; done + TW_LANES <= width; done += TW_LANES) mix_vectors(1, share, v + done, step, rows, y + done);
  for (; done < width; done++) {
    float sum = 0.0f;
    for (int32_t s = 0; s < rows; s++) sum += share[s] * v[s * step + done];
    y[done] = sum;
  }
}

/* A few queries of a head, one by one. */
static void few(const tw_fusedattention_params *p, const memory *m, const float *q, const float *keys,
                const float *values, const int32_t *position, float *y) {
  const tw_attention_rows *const r = &p->rows;
  const int64_t heads = (int64_t)r->groups * r->repeat;
  for (int32_t t = 0; t < r->queries; t++, q += heads * r->length, y += heads * r->width) {
    const int32_t seen = tw_keys_seen(r, t, position);
    tw_row_dots(q, keys, (int64_t)r->groups * r->length, r->length, seen, m->scores);
    tw_vector_shares(m->scores, p->scale, seen, m->scores);
    mix_rows(m->scores, values, (int64_t)r->groups * r->width, seen, r->width, y);
  }
}

/* All queries of a head. */
static void many(const tw_fusedattention_params *p, const memory *m, const float *q, const int32_t *position, float *y) {
  const tw_attention_rows *const r = &p->rows;
  const int64_t heads = (int64_t)r->groups * r->repeat;
  for (int32_t t = 0; t < r->queries; t += TW_TILE) {
    block(p, m, q + t * heads * r->length, position, t, tw_min(TW_TILE, r->queries - t), y + t * heads * r->width);
  }
}

void TW_NAME(const tw_fusedattention_params *params, const float *q, const float *k, const float *v,
             const int32_t *position, float *y, void *scratch) {
  const tw_attention_rows r = params->rows;
  const int32_t heads = r.groups * r.repeat, pitch = tw_in_panels(r.keys, TW_PANEL);
  memory m = {scratch, (float *)scratch + TW_PANEL, 0, 0, pitch, 0};
  m.keys = m.scores + TW_TILE * pitch;
  m.values = m.keys + (int64_t)pitch * r.length;
  memset(m.zeros, 0, TW_PANEL * sizeof *m.zeros);
  for (int32_t pair = 0; pair < r.batch * r.groups; pair++) {
    const int32_t b = pair / r.groups, g = pair % r.groups;
    const float *const keys = k + ((int64_t)b * r.keys * r.groups + g) * r.length;
    const float *const values = v + ((int64_t)b * r.keys * r.groups + g) * r.width;
    const int is_few = r.queries < FEW_QUERIES;
    m.rows = tw_keys_seen(&r, r.queries - 1, position);
    if (!is_few) load_keys(keys, (int64_t)r.groups * r.length, m.rows, r.length, m.keys);
    if (!is_few) load_values(values, (int64_t)r.groups * r.width, m.rows, r.width, m.values);
    for (int32_t h = g * r.repeat; h < (g + 1) * r.repeat; h++) {
      const int64_t head = (int64_t)b * r.queries * heads + h;
      const float *const first = q + head * r.length;
      float *const to = y + head * r.width;
      if (is_few) {
        few(params, &m, first, keys, values, position, to);
      } else {
        many(params, &m, first, position, to);
      }
    }
  }
}
