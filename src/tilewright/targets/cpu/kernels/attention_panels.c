/* y = softmax(scale * q k') v of floats, over the keys that each query sees. Some queries meet some keys at a time: their
 * scores stay in the nearest cache, and sums go on with the next keys, made smaller where a larger score is found. Keys
 * and values are copied as panels: where they are, those of a head lie so far apart that they take each other's place in
 * the nearest cache. A few queries read them where they are. */
#include <math.h>

#include "packed_rows.h"
#include "row_dots.h"
#include "turned_rows.h"
#include "vector_shares.h"

#ifndef TW_NAME
#define TW_NAME tw_attention_panels
#endif

/* Queries at a time. */
#if defined(__aarch64__)
#define QUERIES TW_TILE
#else
#define QUERIES TW_PACKED_TILE
#endif

/* Working memory: zeros that sums start with, a chunk of QUERIES queries, their scores with TW_CHUNK keys, keys and
 * values as panels. Or the scores of one query with all keys, then nothing else. */
typedef struct {
  float *zeros, *queries, *scores, *keys, *values;
  int32_t rows; /* of values */
} memory;

enum { FEW_QUERIES = 4, WIDE = 8, TOGETHER = 4 /* rows whose powers are taken */ };

static const float LOG2_E = 1.44269504f;
static const tw_bounds unbounded = {0, 0, 0.0f, 0.0f};

/* Rows of some length that are `step` apart, as panels of TW_PANEL rows each. */
static void load_keys(const float *k, int64_t step, int32_t keys, int32_t length, float *panels) {
  for (int32_t first = 0; first < keys; first += TW_PANEL, panels += length * TW_PANEL) {
    tw_turn_rows(k + first * step, step, tw_min(TW_PANEL, keys - first), length, panels);
  }
}

/* Elements from row to row of a panel of values: no more than vectors have that are read. */
static int32_t panel_row(int32_t columns) { return columns > TW_LANES ? TW_PANEL : TW_LANES; }

/* Columns of rows that are `step` apart, as panels of TW_PANEL columns each, the last one perhaps of one vector. */
static void load_values(const float *v, int64_t step, int32_t rows, int32_t width, float *panel) {
  for (int32_t first = 0; first < width; first += TW_PANEL) {
    const int32_t columns = tw_min(TW_PANEL, width - first), row = panel_row(columns);
    for (int32_t s = 0; s < rows; s++, panel += row) {
      const float *const from = v + s * step + first;
      for (int32_t j = 0; j < row; j += TW_LANES) {
        const int32_t some = tw_min(TW_LANES, columns - j);
        tw_store(panel + j, some == TW_LANES ? tw_load(from + j) : tw_load_first(from + j, some));
      }
    }
  }
}

/* Rows that are TW_PACKED_PITCH apart times a part of a panel, whose rows are `row` apart. */
static void multiply(int32_t rows, const float *x, const float *panel, int32_t length, int32_t row, tw_tile_end *end) {
#if defined(__aarch64__)
  const int32_t at = 0;
  const tw_parts parts = {1, length, &at};
  const float *from[QUERIES];
  for (int32_t i = 0; i < rows; i++) from[i] = x + i * TW_PACKED_PITCH;
  tw_multiply(rows, 1, from, &parts, panel, row, end);
#else
  tw_panel_part part = {panel, panel, length, row, 0};
  tw_multiply_packed(rows, 1, x, &part, end);
#endif
}

/* Some elements of some queries, scaled so that powers of 2 are those of e that are wanted. */
static void load_queries(const float *q, int64_t step, float scale, int32_t rows, int32_t length, float *to) {
  for (int32_t i = 0; i < rows; i++, q += step, to += TW_PACKED_PITCH) {
    for (int32_t d = 0; d < length; d++) to[d] = scale * q[d];
  }
}

/* Scores of some queries with `keys` keys from `first` on. Queries of one chunk are there after the first keys. */
static void score(const tw_fusedattention_params *p, const memory *m, const float *q, int32_t rows, int32_t first,
                  int32_t keys) {
  const int32_t length = p->rows.length;
  const int64_t step = (int64_t)p->rows.groups * p->rows.repeat * length;
  for (int32_t done = 0; done < length; done += TW_CHUNK) {
    const int32_t chunk = tw_min(TW_CHUNK, length - done);
    if (first == 0 || length > TW_CHUNK) load_queries(q + done, step, LOG2_E * p->scale, rows, chunk, m->queries);
    for (int32_t key = 0; key < keys; key += TW_PANEL) {
      tw_tile_end end = {done ? 0 : m->zeros, unbounded, m->scores + key, TW_PACKED_PITCH, TW_PANEL};
      multiply(rows, m->queries, m->keys + (int64_t)(first + key) * length + done * TW_PANEL, chunk, TW_PANEL, &end);
    }
  }
}

/* Powers of scores of some queries times their keys' values, added to what is there unless these are the first. */
static void mix(const tw_attention_rows *r, const memory *m, int32_t rows, int32_t first, int32_t keys, float *y) {
  const int64_t y_row = (int64_t)r->groups * r->repeat * r->width;
  for (int32_t column = 0; column < r->width; column += TW_PANEL) {
    const int32_t columns = tw_min(TW_PANEL, r->width - column), row = panel_row(columns);
    const float *const panel = m->values + (int64_t)column * m->rows + first * row;
    tw_tile_end end = {first ? 0 : m->zeros, unbounded, y + column, y_row, columns};
    multiply(rows, m->scores, panel, keys, row, &end);
  }
}

/* What is known of a query's scores so far: the largest, and the sum of powers of what they are below it. */
typedef struct {
  float largest, total;
} sofar;

/* Scores that a query does not see, from `seen` to the end of a panel. */
static void hide(float *x, int32_t seen, int32_t columns) {
  for (int32_t s = tw_max(seen, 0); s < columns; s++) x[s] = -INFINITY;
}

/* The largest score of each row, `rows` at a time, a constant. */
TW_INLINE void find_largest(const int rows, const float *x, int32_t columns, float *largest) {
  tw_vector found[TOGETHER];
  TW_UNROLL for (int r = 0; r < rows; r++) found[r] = tw_load(x + r * TW_PACKED_PITCH);
  for (int32_t i = TW_LANES; i < columns; i += TW_LANES) {
    TW_UNROLL for (int r = 0; r < rows; r++) found[r] = tw_at_least(tw_load(x + r * TW_PACKED_PITCH + i), found[r]);
  }
  TW_UNROLL for (int r = 0; r < rows; r++) largest[r] = tw_lane_most(found[r]);
}

/* Each score becomes 2^(x - largest); the sums of rows are added to what is there. */
TW_INLINE void take_powers(const int rows, float *x, int32_t columns, sofar *found) {
  tw_vector total[TOGETHER], most[TOGETHER], power[TOGETHER];
  TW_UNROLL for (int r = 0; r < rows; r++) total[r] = tw_all(0.0f), most[r] = tw_all(found[r].largest);
  for (int32_t i = 0; i < columns; i += TW_LANES) {
    TW_UNROLL for (int r = 0; r < rows; r++) power[r] = tw_load(x + r * TW_PACKED_PITCH + i) - most[r];
    tw_vectors_exp2(rows, power);
    TW_UNROLL for (int r = 0; r < rows; r++) total[r] += power[r];
    TW_UNROLL for (int r = 0; r < rows; r++) tw_store(x + r * TW_PACKED_PITCH + i, power[r]);
  }
  TW_UNROLL for (int r = 0; r < rows; r++) found[r].total += tw_lane_sum(total[r]);
}

/* A larger score is found: results so far become smaller. */
static void lessen(sofar *found, float largest, float *y, int32_t width) {
  const float smaller = exp2f(found->largest - largest);
  found->largest = largest;
  found->total *= smaller;
  for (int32_t j = 0; j < width; j++) y[j] *= smaller;
}

/* Scores of some rows become powers. Where all are -inf so far, others may follow. */
TW_INLINE void soften(const int rows, float *x, int32_t columns, sofar *found, float *y, int64_t y_row, int32_t width) {
  float largest[TOGETHER];
  find_largest(rows, x, columns, largest);
  for (int32_t r = 0; r < rows; r++) {
    if (found[r].total == 0.0f) found[r].largest = largest[r] == -INFINITY ? 0.0f : largest[r];
    else if (!(largest[r] <= found[r].largest)) lessen(&found[r], largest[r], y + r * y_row, width);
  }
  take_powers(rows, x, columns, found);
}

/* Scores of all rows of a tile. */
static void soften_all(int32_t rows, float *x, int32_t columns, sofar *found, float *y, int64_t y_row, int32_t width) {
  int32_t r = 0;
  for (; r + TOGETHER <= rows; r += TOGETHER) {
    soften(TOGETHER, x + r * TW_PACKED_PITCH, columns, found + r, y + r * y_row, y_row, width);
  }
  for (; r < rows; r++) soften(1, x + r * TW_PACKED_PITCH, columns, found + r, y + r * y_row, y_row, width);
}

/* Up to QUERIES queries of a head. */
static void block(const tw_fusedattention_params *p, const memory *m, const float *q, const int32_t *position,
                  int32_t query, int32_t rows, float *y) {
  const int64_t y_row = (int64_t)p->rows.groups * p->rows.repeat * p->rows.width;
  const int32_t most = tw_keys_seen(&p->rows, query + rows - 1, position);
  sofar found[QUERIES];
  for (int32_t i = 0; i < rows; i++) found[i].largest = found[i].total = 0.0f;
  for (int32_t first = 0; first < most; first += TW_CHUNK) {
    const int32_t keys = tw_min(TW_CHUNK, most - first), columns = tw_in_panels(keys, TW_PANEL);
    score(p, m, q, rows, first, keys);
    for (int32_t i = 0; i < rows; i++) {
      hide(m->scores + i * TW_PACKED_PITCH, tw_keys_seen(&p->rows, query + i, position) - first, columns);
    }
    soften_all(rows, m->scores, columns, found, y, y_row, p->rows.width);
    mix(&p->rows, m, rows, first, keys, y);
  }
  for (int32_t i = 0; i < rows; i++, y += y_row) {
    const float unit = 1.0f / found[i].total;
    for (int32_t j = 0; j < p->rows.width; j++) y[j] *= unit;
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
    for (int32_t s = 0; s < seen; s++) m->scores[s] *= p->scale;
    tw_vector_shares(m->scores, seen, m->scores);
    mix_rows(m->scores, values, (int64_t)r->groups * r->width, seen, r->width, y);
  }
}

/* All queries of a head: as few tiles as possible, which have as many each, or one more. */
static void many(const tw_fusedattention_params *p, const memory *m, const float *q, const int32_t *position, float *y) {
  const tw_attention_rows *const r = &p->rows;
  const int64_t heads = (int64_t)r->groups * r->repeat;
  const int32_t tiles = (r->queries + QUERIES - 1) / QUERIES, least = r->queries / tiles, more = r->queries % tiles;
  for (int32_t tile = 0, t = 0, rows; tile < tiles; tile++, t += rows) {
    rows = least + (tile < more);
    block(p, m, q + t * heads * r->length, position, t, rows, y + t * heads * r->width);
  }
}

void TW_NAME(const tw_fusedattention_params *params, const float *q, const float *k, const float *v,
             const int32_t *position, float *y, void *scratch) {
  const tw_attention_rows r = params->rows;
  const int32_t heads = r.groups * r.repeat;
  memory m = {scratch, (float *)scratch + TW_PANEL, 0, 0, 0, 0};
  m.scores = r.queries < FEW_QUERIES ? m.queries : m.queries + QUERIES * TW_PACKED_PITCH;
  m.keys = m.scores + QUERIES * TW_PACKED_PITCH;
  m.values = m.keys + (int64_t)tw_in_panels(r.keys, TW_PANEL) * r.length;
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
