/* Sums of products of bytes by the floating-point unit.
 *
 * A multiplication of integers takes five cycles, two of floats take one: products of bytes are exact in floats, and so are their
 * sums up to 2^22. Bytes become floats by tables. A sum begins with 1.5 * 2^23: its bits are then those of this number plus the
 * total. Longer sums are taken in groups. */
#ifndef TW_BYTE_PRODUCTS_H
#define TW_BYTE_PRODUCTS_H

#include "byte_totals.h"
#include "stream_sums.h"

/* The working memory, which all cores share but for the copies. */
typedef struct {
  float *left, *right; /* of each byte of the first and the second factor */
  float *origins;      /* a row of what sums begin with */
  float *b;            /* the second factor as floats, row by row */
  int32_t width;       /* of such a row: even */
  float *sums;
  int32_t *totals;     /* of all groups before, where there are several */
  void *copies;
  int32_t inner;       /* products of a sum */
  int32_t group;       /* those that are summed at a time */
} tw_byte_rooms;

static TW_COMPACT tw_byte_rooms tw_byte_rooms_in(float *scratch, int32_t rows, int32_t inner, int32_t columns, int32_t largest) {
  const int32_t safe = TW_LARGEST_TOTAL / largest, width = tw_even(columns);
  tw_byte_rooms r = {.left = scratch, .right = scratch + 256, .origins = scratch + 512, .width = width, .inner = inner, .group = inner};
  r.b = r.origins + width;
  r.sums = r.b + inner * width;
  float *after = r.sums + rows * width;
  if (inner > safe) {
    r.group = safe;
    r.totals = (int32_t *)after;
    after += rows * width;
  }
  r.copies = after;
  return r;
}

static TW_COMPACT void tw_fill_origins(const tw_byte_rooms *r) {
  const tw_share origins = tw_share_of(r->width);
  for (int32_t i = origins.first; i < origins.end; i++) ((volatile int32_t *)r->origins)[i] = TW_ORIGIN_BITS;
}

/* Four elements that are `step` apart; what a load gives is not there at once. */
#define FOUR(name, from, step, table)                                                                                  \
  const uint32_t name##0 = (from)[0], name##1 = (from)[step], name##2 = (from)[2 * (step)], name##3 = (from)[3 * (step)]; \
  const uint32_t table##0 = (table)[name##0], table##1 = (table)[name##1], table##2 = (table)[name##2], table##3 = (table)[name##3]

static __attribute__((noinline)) void tw_make_floats(const uint8_t *from, int32_t step, int32_t count, const uint32_t *table, uint32_t *to) {
  for (; count >= 4; count -= 4, from += 4 * step, to += 4) {
    FOUR(byte, from, step, table);
    to[0] = table0;
    to[1] = table1;
    to[2] = table2;
    to[3] = table3;
  }
  for (; count > 0; count--, from += step) *to++ = table[*from];
}

static __attribute__((noinline)) void tw_copy_bytes(const uint8_t *from, int32_t step, int32_t count, const uint32_t *table, uint64_t *to) {
  for (; count >= 4; count -= 4, from += 4 * step, to += 4) {
    FOUR(byte, from, step, table);
    tw_put(to, table0);
    tw_put(to + 1, table1);
    tw_put(to + 2, table2);
    tw_put(to + 3, table3);
  }
  for (; count > 0; count--, from += step, to++) tw_put(to, table[*from]);
}

/* A group's sums become part of the totals. */
static TW_COMPACT void tw_add_to_totals(const tw_byte_rooms *r, const tw_sums *k, int is_first) {
  for (int32_t row = k->rows.first; row < k->rows.end; row++) {
    const int32_t *const sums = (const int32_t *)r->sums + row * r->width;
    int32_t *const totals = r->totals + row * r->width;
    for (int32_t i = k->columns.first; i < k->columns.end; i++) totals[i] = sums[i] - TW_ORIGIN_BITS + (is_first ? 0 : totals[i]);
  }
}

/* All sums of this core's part. */
static void tw_sum_groups(const tw_byte_rooms *r, tw_sums *k) {
  for (k->before = 0; k->before < r->inner; k->before += k->inner) {
    k->b = r->b + k->before * r->width;
    k->inner = tw_taken(r->inner - k->before, r->group);
    tw_sums_copies(k, r->inner, r->copies);
    tw_sum_up(k);
    if (r->totals) tw_add_to_totals(r, k, k->before == 0);
  }
}

/* What is in them is `tw_origin` more than it should be. */
static inline const int32_t *tw_totals(const tw_byte_rooms *r) { return r->totals ? r->totals : (const int32_t *)r->sums; }
static inline int32_t tw_origin(const tw_byte_rooms *r) { return r->totals ? 0 : TW_ORIGIN_BITS; }

#endif
