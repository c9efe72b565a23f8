/* y = softmax(bent(scale * q k')) v of floats over the keys of a cache that each query sees, where
 * bent(s) = cap * tanh(s / cap). Queries of all heads that share keys meet a block of these together: their scores stay
 * near, and sums go on with the next block, made smaller where a larger score is found.
 *
 * What is computed of a query, and in which order, depends on nothing but the keys that it sees: it has the same result
 * whether it is alone or among others. */
#include "cached_attention.h"

#include <math.h>

#include "cached_attention_sizes.h"
#include "fast_functions.h"
#include "lanes.h"
#include "short_vectors.h"
#include "vector_exp.h"

#ifndef TW_NAME
#define TW_NAME tw_cached_attention
#define TW_K float
#define TW_V float
#endif

#ifdef TW_K_IS_HALF
#define LOAD_KEYS tw_load_short
#else
#define LOAD_KEYS tw_load
#endif
#ifdef TW_V_IS_HALF
#define LOAD_VALUES tw_load_short
#define LOAD_FIRST_VALUES tw_load_first_short
#else
#define LOAD_VALUES tw_load
#define LOAD_FIRST_VALUES tw_load_first
#endif

/* Vectors of sums that registers hold, and queries at a time. */
#if TW_VECTOR_BYTES == 64
enum { SUMS = 16, QUERIES = 8 };
#elif TW_VECTOR_BYTES == 32
enum { SUMS = 8, QUERIES = 4 };
#else
enum { SUMS = 16, QUERIES = 4 };
#endif
enum { BLOCK_VECTORS = TW_KEY_BLOCK / TW_LANES, WIDE = 4, TOGETHER = 4 };

static const float LOG2_E = 1.44269504f;

typedef struct {
  float *queries, *sums, *totals, *largest, *smaller, *scores;
  int32_t pitch; /* of sums */
} memory;

/* Some queries of a group: those of token 0 for each head, then those of token 1, ... */
typedef struct {
  const tw_cached_attention_params *p;
  const int32_t *position;
  int32_t group, first, count;
} some_queries;

static int32_t seen_by(const some_queries *of, int32_t query) {
  return tw_keys_seen(&of->p->rows, (of->first + query) / of->p->rows.repeat, of->position);
}

/* The first key that a query sees which sees keys before `seen`. */
static int32_t first_seen(const tw_cached_attention_params *p, int32_t seen) {
  return p->window > 0 && seen > p->window ? seen - p->window : 0;
}

/* Where a query begins, in elements of `width` for each. */
static int64_t place_of(const some_queries *of, int32_t query, int32_t width) {
  const tw_attention_rows *const r = &of->p->rows;
  const int32_t number = of->first + query, token = number / r->repeat, head = number % r->repeat;
  return ((int64_t)token * r->groups * r->repeat + of->group * r->repeat + head) * width;
}

/* ---- scores ------------------------------------------------------------------------------------------------------- */

/* Products of `queries` queries with `vectors` vectors of keys, both constants. */
TW_INLINE void multiply_keys(const int queries, const int vectors, const float *q, int32_t length, const TW_K *k,
                             float *scores) {
  tw_vector sum[SUMS], key[BLOCK_VECTORS];
  TW_UNROLL for (int i = 0; i < queries * vectors; i++) sum[i] = tw_all(0.0f);
  for (int32_t d = 0; d < length; d++, k += TW_KEY_BLOCK) {
    TW_UNROLL for (int i = 0; i < vectors; i++) key[i] = LOAD_KEYS(k + i * TW_LANES);
    TW_UNROLL for (int m = 0; m < queries; m++) {
      const float factor = q[m * length + d];
      TW_UNROLL for (int i = 0; i < vectors; i++) sum[m * vectors + i] += key[i] * factor;
    }
  }
  TW_UNROLL for (int m = 0; m < queries; m++) {
    TW_UNROLL for (int i = 0; i < vectors; i++) tw_store(scores + m * TW_KEY_BLOCK + i * TW_LANES, sum[m * vectors + i]);
  }
}

TW_INLINE void score(const int queries, const float *q, int32_t length, const TW_K *k, int32_t keys, float *scores) {
  const int vectors = SUMS / queries < BLOCK_VECTORS ? SUMS / queries : BLOCK_VECTORS;
  for (int32_t key = 0; key < keys; key += vectors * TW_LANES) {
    multiply_keys(queries, vectors, q, length, k + key, scores + key);
  }
}

/* ---- powers ------------------------------------------------------------------------------------------------------- */

static void hide(float *scores, int32_t first, int32_t last) {
  for (int32_t s = 0; s < first; s++) scores[s] = -INFINITY;
  for (int32_t s = last; s < TW_KEY_BLOCK; s++) scores[s] = -INFINITY;
}

static float largest_of(const float *scores) {
  tw_vector found = tw_load(scores);
  TW_UNROLL for (int i = 1; i < BLOCK_VECTORS; i++) found = tw_at_least(tw_load(scores + i * TW_LANES), found);
  return tw_lane_most(found);
}

/* Scores of a query with a block become powers of 2 of what they are below the largest so far, and are added to the
 * total. What comes back is what sums so far become smaller by. */
static float soften(float *scores, float *largest, float *total) {
  const float here = largest_of(scores), before = *largest;
  float smaller = 1.0f;
  if (here == -INFINITY && before == -INFINITY) {
    for (int32_t s = 0; s < TW_KEY_BLOCK; s++) scores[s] = 0.0f;
    return smaller;
  }
  if (!(here <= before)) {
    *largest = here;
    smaller = exp2f(before - here);
  }
  const tw_vector most = tw_all(*largest);
  tw_vector sum = tw_load(total) * smaller;
  for (int32_t first = 0; first < BLOCK_VECTORS; first += TOGETHER) {
    tw_vector power[TOGETHER];
    float *const own = scores + first * TW_LANES;
    TW_UNROLL for (int i = 0; i < TOGETHER; i++) power[i] = tw_load(own + i * TW_LANES) - most;
    tw_vectors_exp2(TOGETHER, power);
    TW_UNROLL for (int i = 0; i < TOGETHER; i++) sum += power[i];
    TW_UNROLL for (int i = 0; i < TOGETHER; i++) tw_store(own + i * TW_LANES, power[i]);
  }
  tw_store(total, sum);
  return smaller;
}

static void bend(float cap, float *scores) {
  for (int32_t s = 0; s < TW_KEY_BLOCK; s++) scores[s] = LOG2_E * cap * tw_tanh(scores[s]);
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

/* Adds values times powers to `vectors` vectors of the sums of `queries` queries, both constants. Of a single one, `lanes`
 * may be there. */
TW_INLINE void mix_vectors(const int queries, const int vectors, int32_t lanes, const memory *m, const float *smaller,
                           const TW_V *v, int64_t step, int32_t keys, float *sums) {
  tw_vector sum[SUMS], value[WIDE];
  TW_UNROLL for (int q = 0; q < queries; q++) {
    TW_UNROLL for (int i = 0; i < vectors; i++) {
      sum[q * vectors + i] = tw_load(sums + q * m->pitch + i * TW_LANES) * smaller[q];
    }
  }
  for (int32_t s = 0; s < keys; s++, v += step) {
    if (vectors == 1 && lanes < TW_LANES) {
      value[0] = LOAD_FIRST_VALUES(v, lanes);
    } else {
      TW_UNROLL for (int i = 0; i < vectors; i++) value[i] = LOAD_VALUES(v + i * TW_LANES);
    }
    TW_UNROLL for (int q = 0; q < queries; q++) {
      const float power = m->scores[q * TW_KEY_BLOCK + s];
      TW_UNROLL for (int i = 0; i < vectors; i++) sum[q * vectors + i] += value[i] * power;
    }
  }
  TW_UNROLL for (int q = 0; q < queries; q++) {
    TW_UNROLL for (int i = 0; i < vectors; i++) tw_store(sums + q * m->pitch + i * TW_LANES, sum[q * vectors + i]);
  }
}

TW_INLINE void mix(const int queries, const memory *m, const float *smaller, const TW_V *v, int64_t step, int32_t keys,
                   int32_t width, float *sums) {
  const int vectors = SUMS / queries < WIDE ? SUMS / queries : WIDE;
  int32_t e = 0;
  for (; e + vectors * TW_LANES <= width; e += vectors * TW_LANES) {
    mix_vectors(queries, vectors, TW_LANES, m, smaller, v + e, step, keys, sums + e);
  }
  for (; e < width; e += TW_LANES) {
    mix_vectors(queries, 1, tw_min(TW_LANES, width - e), m, smaller, v + e, step, keys, sums + e);
  }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

/* `queries` queries from one on meet the block of keys that begins at `first`; those that are not there are zeros, and
 * nobody looks at what comes of them. */
TW_INLINE void meet(const int queries, const some_queries *of, const memory *m, int32_t query, int32_t first,
                    const TW_K *k, const TW_V *v) {
  const tw_attention_rows *const r = &of->p->rows;
  const int32_t there = tw_min(queries, of->count - query);
  const int32_t keys = tw_min(TW_KEY_BLOCK, seen_by(of, query + there - 1) - first);
  score(queries, m->queries + (int64_t)query * r->length, r->length, k, keys, m->scores);
  for (int32_t i = 0; i < queries; i++) {
    const int32_t seen = seen_by(of, query + tw_min(i, there - 1));
    float *const scores = m->scores + i * TW_KEY_BLOCK;
    if (of->p->cap > 0.0f) bend(of->p->cap, scores);
    hide(scores, tw_clamp(first_seen(of->p, seen) - first, 0, TW_KEY_BLOCK), tw_clamp(seen - first, 0, TW_KEY_BLOCK));
    m->smaller[i] = soften(scores, m->largest + query + i, m->totals + (int64_t)(query + i) * TW_MOST_LANES);
  }
  mix(queries, m, m->smaller, v, (int64_t)r->groups * r->width, keys, r->width, m->sums + (int64_t)query * m->pitch);
}

static void meet_some(int32_t queries, const some_queries *of, const memory *m, int32_t query, int32_t first,
                      const TW_K *k, const TW_V *v) {
  if (queries > 4) meet(QUERIES, of, m, query, first, k, v);
  else if (queries > 2) meet(4, of, m, query, first, k, v);
  else if (queries > 1) meet(2, of, m, query, first, k, v);
  else meet(1, of, m, query, first, k, v);
}

/* Scaled so that powers of 2 are those of e that are wanted, or that tanh is of them. */
static void load_queries(const some_queries *of, const memory *m, const float *q) {
  const int32_t length = of->p->rows.length, places = tw_places_of_queries(&of->p->rows);
  const float scale = of->p->cap > 0.0f ? of->p->scale / of->p->cap : LOG2_E * of->p->scale;
  for (int32_t i = 0; i < places; i++) {
    const float *const from = q + (i < of->count ? place_of(of, i, length) : 0);
    for (int32_t d = 0; d < length; d++) m->queries[(int64_t)i * length + d] = i < of->count ? scale * from[d] : 0.0f;
    for (int32_t e = 0; e < m->pitch; e++) m->sums[(int64_t)i * m->pitch + e] = 0.0f;
    for (int32_t lane = 0; lane < TW_MOST_LANES; lane++) m->totals[i * TW_MOST_LANES + lane] = 0.0f;
    m->largest[i] = -INFINITY;
  }
}

static void attend(const some_queries *of, const memory *m, const float *q, const TW_K *k, const TW_V *v, float *y) {
  const tw_attention_rows *const r = &of->p->rows;
  const int64_t key_block = (int64_t)r->groups * r->length * TW_KEY_BLOCK;
  const int32_t most = seen_by(of, of->count - 1);
  load_queries(of, m, q);
  for (int32_t block = first_seen(of->p, seen_by(of, 0)) / TW_KEY_BLOCK; block * TW_KEY_BLOCK < most; block++) {
    const int32_t first = block * TW_KEY_BLOCK;
    for (int32_t query = 0; query < of->count; query += QUERIES) {
      const int32_t count = tw_min(QUERIES, of->count - query);
      if (seen_by(of, query + count - 1) <= first) continue;
      meet_some(count, of, m, query, first, k + block * key_block + (int64_t)of->group * r->length * TW_KEY_BLOCK,
                v + ((int64_t)first * r->groups + of->group) * r->width);
    }
  }
  for (int32_t i = 0; i < of->count; i++) {
    const float unit = 1.0f / tw_lane_sum(tw_load(m->totals + i * TW_MOST_LANES));
    float *const to = y + place_of(of, i, r->width);
    for (int32_t e = 0; e < r->width; e++) to[e] = m->sums[(int64_t)i * m->pitch + e] * unit;
  }
}

/* ---- parts -------------------------------------------------------------------------------------------------------- */

static memory memory_in(const tw_cached_attention_params *p, float *scratch) {
  const int64_t places = tw_places_of_queries(&p->rows);
  memory m = {scratch, 0, 0, 0, 0, 0, tw_sums_pitch(p->rows.width)};
  m.sums = m.queries + places * p->rows.length;
  m.totals = m.sums + places * m.pitch;
  m.largest = m.totals + places * TW_MOST_LANES;
  m.smaller = m.largest + places;
  m.scores = m.smaller + places;
  return m;
}

/* Few queries are dealt out one by one, those of a group to one part as far as that goes. Of many, later ones see more
 * keys: parts take them in turns, as many at a time as there are places. */
void TW_NAME(const tw_cached_attention_params *params, const float *q, const TW_K *k, const TW_V *v,
             const int32_t *position, float *y, void *scratch) {
  const tw_attention_rows *const r = &params->rows;
  const memory m = memory_in(params, scratch);
  const int64_t each = (int64_t)r->queries * r->repeat, all = each * r->groups, parts = params->parts;
  const int is_few = all <= parts * TW_MOST_QUERIES;
  const int64_t begin = is_few ? all * params->part / parts : 0, end = is_few ? all * (params->part + 1) / parts : all;
  int64_t turn = 0;
  for (int64_t at = begin; at < end; turn++) {
    some_queries of = {params, position, (int32_t)(at / each), (int32_t)(at % each), 0};
    const int64_t left = end - at < each - of.first ? end - at : each - of.first;
    of.count = left < TW_MOST_QUERIES ? (int32_t)left : TW_MOST_QUERIES;
    if (is_few || turn % parts == params->part) attend(&of, &m, q, k, v, y);
    at += of.count;
  }
}
