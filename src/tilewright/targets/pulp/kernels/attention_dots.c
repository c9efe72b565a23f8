/* Attention of bytes with tokens first: scores, softmax by tables and values, row by row; all cores of a cluster together.
 *
 * A core takes a row (a query of a head) from products to results, and has its scores in 32 bits. Four keys meet a query
 * at a time. Four rows of four values are transposed: in registers where a word of shares meets them, or once for all where
 * many queries do. */
#include "attention_dots.h"

#ifndef TW_NAME
#define TW_NAME tw_attention_dots_i8
#define TW_K int8_t
#define TW_V int8_t
#endif

#include "attention_scores.h"
#include "attention_shares.h"
#include "attention_values.h"

/* Rows that are taken together, at most. */
#define TW_TOGETHER 8

/* The query as it is multiplied; in 16 bits without its zero point where keys have them. */
static inline void set_query(const params_type *p, const int8_t *q, int16_t *wide, own_row *o) {
  const int32_t length = p->exact.rows.length, q_zero = p->exact.q_zero;
  int32_t sum = 0;
  for (int32_t i = 0; i < length; i += 4) sum = tw_x_sdotsp4(sum, tw_x_load(q + i), 0x01010101u);
  if (!K_IS_BYTE) {
    for (int32_t i = 0; i < length; i++) wide[i] = (int16_t)(q[i] - q_zero);
  }
  o->query = K_IS_BYTE ? (const void *)q : (const void *)wide;
  o->begin = -p->exact.k_zero * (sum - length * q_zero);
}

/* The row of a number: queries from both ends in turn, as later ones see more keys than earlier ones. */
static TW_COMPACT void set_row(const params_type *p, int32_t number, const int8_t *q, const TW_K *k, const TW_V *v,
                               const int32_t *position, int8_t *y, const uint32_t *turned, int16_t *wide, own_row *o) {
  const tw_attention_rows *const r = &p->exact.rows;
  const int32_t heads = r->groups * r->repeat, turn = number < heads ? 0 : (int32_t)((uint32_t)number / (uint32_t)heads);
  const int32_t head = number - turn * heads;
  const int32_t batch = r->batch == 1 ? 0 : turn / r->queries, group = r->repeat == 1 ? head : head / r->repeat;
  const int32_t in_turn = turn - batch * r->queries;
  const int32_t query = in_turn & 1 ? r->queries - 1 - (in_turn >> 1) : in_turn >> 1;
  const int32_t at = (batch * r->queries + query) * heads + head, first = batch * r->keys * r->groups + group;
  o->seen = tw_keys_seen(r, query, position);
  o->keys = k + first * r->length;
  o->values = v + first * r->width;
  o->y = y + at * r->width;
  o->turned = turned ? turned + (batch * r->groups + group) * r->width * ((r->keys + 3) >> 2) : 0;
  set_query(p, q + at * r->length, wide, o);
}

/* Some rows, each step for all of them before the next one, so that its code stays in the caches. */
static void some_rows(const params_type *p, const int32_t *table, own_row *rows, int32_t count) {
  int32_t sums[TW_TOGETHER];
  for (int32_t i = 0; i < count; i++) {
    rows[i].largest = p->is_upper ? score_row(p, rows + i, rows[i].keys) : score_row_exactly(p, rows + i, rows[i].keys);
  }
  for (int32_t i = 0; i < count; i++) {
    own_row *const o = rows + i;
    o->total = p->exact.bits ? fine_exponential_row(p, o, table, o->largest) : exponential_row(o, table, o->largest);
  }
  for (int32_t i = 0; i < count; i++) sums[i] = share_out(p, rows + i);
  for (int32_t i = 0; i < count; i++) mix_row(p, rows + i, rows[i].values, sums[i], rows[i].y);
}

void TW_NAME(const tw_attention_dots_params *params, const int8_t *q, const TW_K *k, const TW_V *v, const int32_t *table,
             const int32_t *position, int8_t *y, void *scratch) {
  const params_type *const p = params;
  const tw_attention_rows *const r = &p->exact.rows;
  const int32_t wide = K_IS_BYTE ? 0 : 2 * ((r->length + 1) & ~1), bytes = wide + ((4 * r->keys + 7) & ~7);
  const int32_t together = p->together;
  uint8_t *const own = (uint8_t *)scratch + p->own_bytes * tw_core();
  own_row *const rows = (own_row *)own;
  uint8_t *const memory = own + together * (int32_t)sizeof(own_row);
  uint32_t *const turned = p->turns ? (uint32_t *)((uint8_t *)scratch + p->own_bytes * TW_CORES) : 0;
  if (turned) turn_values(p, v, tw_keys_seen(r, r->queries - 1, position), turned);
  const tw_share share = tw_share_of(r->batch * r->queries * r->groups * r->repeat);
  for (int32_t next = share.first; next < share.end; next += together) {
    const int32_t count = tw_x_min(together, share.end - next);
    for (int32_t i = 0; i < count; i++) {
      rows[i].row = (int32_t *)(memory + i * bytes + wide);
      set_row(p, next + i, q, k, v, position, y, turned, (int16_t *)(memory + i * bytes), rows + i);
    }
    some_rows(p, table, rows, count);
  }
}
