/* Matrix product of bytes, any way they lie; int32 totals, optionally requantised; all cores together.
 *
 * A multiplication of integers takes five cycles, two of floats take one: products of bytes are exact in floats, and so are their
 * sums up to 2^22. Bytes become floats by tables. A sum begins with 1.5 * 2^23: its bits are then those of this number plus the
 * total. Longer sums are taken in groups. */
#include "matmul.h"

#ifndef TW_NAME
#define TW_NAME tw_matmul_bytes
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "stream_sums.h"

#define ORIGIN_BITS 0x4b400000 /* of 1.5 * 2^23 */
#define LARGEST_TOTAL 4194303

/* The working memory, which all cores share but for the copies. */
typedef struct {
  const tw_matmul_params *p;
  float *a_floats, *b_floats; /* of each byte */
  float *origins;             /* a row of what sums begin with */
  float *b;                   /* as floats, row by row */
  int32_t width;              /* of such a row: even */
  float *sums;
  int32_t *totals;            /* of all groups before, where there are several */
  int32_t group;              /* products that are summed at a time */
} rooms;

static inline int32_t further(int32_t low, int32_t high, int32_t zero) { return tw_max(high - zero, zero - low); }

static int32_t largest_product(const tw_matmul_params *p) {
  const int32_t a = (TW_A)-1 < 0 ? further(-128, 127, p->a_zero) : further(0, 255, p->a_zero);
  const int32_t b = (TW_B)-1 < 0 ? further(-128, 127, p->b_zero) : further(0, 255, p->b_zero);
  return a * b;
}

static TW_COMPACT rooms rooms_in(const tw_matmul_params *p, float *scratch, float **copies) {
  const int32_t safe = LARGEST_TOTAL / largest_product(p), width = (p->columns + 1) & ~1;
  rooms r = {.p = p, .a_floats = scratch, .b_floats = scratch + 256, .origins = scratch + 512, .width = width, .group = p->inner};
  r.b = r.origins + width;
  r.sums = r.b + p->inner * width;
  *copies = r.sums + p->rows * width;
  if (p->inner > safe) {
    r.group = safe;
    r.totals = (int32_t *)*copies;
    *copies += p->rows * width;
  }
  return r;
}

static TW_COMPACT void fill_tables(const rooms *r) {
  const tw_share bytes = tw_share_of(256), origins = tw_share_of(r->width);
  for (int32_t i = bytes.first; i < bytes.end; i++) {
    r->a_floats[i] = (float)((TW_A)i - r->p->a_zero);
    r->b_floats[i] = (float)((TW_B)i - r->p->b_zero);
  }
  for (int32_t i = origins.first; i < origins.end; i++) ((volatile int32_t *)r->origins)[i] = ORIGIN_BITS;
}

/* Four elements that are `step` apart; what a load gives is not there at once. */
#define FOUR(name, from, step, table)                                                                                  \
  const uint32_t name##0 = (from)[0], name##1 = (from)[step], name##2 = (from)[2 * (step)], name##3 = (from)[3 * (step)]; \
  const uint32_t table##0 = (table)[name##0], table##1 = (table)[name##1], table##2 = (table)[name##2], table##3 = (table)[name##3]

static __attribute__((noinline)) void make_floats(const uint8_t *from, int32_t step, int32_t count, const uint32_t *table, uint32_t *to) {
  for (; count >= 4; count -= 4, from += 4 * step, to += 4) {
    FOUR(byte, from, step, table);
    to[0] = table0;
    to[1] = table1;
    to[2] = table2;
    to[3] = table3;
  }
  for (; count > 0; count--, from += step) *to++ = table[*from];
}

static void convert_b(const rooms *r, const TW_B *b) {
  const tw_matmul_params *const p = r->p;
  const tw_share rows = tw_share_of(p->inner);
  for (int32_t row = rows.first; row < rows.end; row++) {
    uint32_t *const to = (uint32_t *)r->b + row * r->width;
    make_floats((const uint8_t *)b + row * p->b_row, p->b_column, p->columns, (const uint32_t *)r->b_floats, to);
    if (p->columns & 1) to[p->columns] = 0;
  }
}

static __attribute__((noinline)) void copy_bytes(const uint8_t *from, int32_t step, int32_t count, const uint32_t *table, uint64_t *to) {
  for (; count >= 4; count -= 4, from += 4 * step, to += 4) {
    FOUR(byte, from, step, table);
    tw_put(to, table0);
    tw_put(to + 1, table1);
    tw_put(to + 2, table2);
    tw_put(to + 3, table3);
  }
  for (; count > 0; count--, from += step, to++) tw_put(to, table[*from]);
}

static void tw_copy_run_of(const tw_sums *k, int32_t row, int32_t first, int32_t count, uint64_t *to) {
  const rooms *const r = k->p;
  const tw_matmul_params *const p = r->p;
  copy_bytes((const uint8_t *)k->a + row * p->a_row + first * p->a_column, p->a_column, count, (const uint32_t *)r->a_floats, to);
}

/* A group's sums become part of the totals. */
static TW_COMPACT void add_to_totals(const rooms *r, const tw_sums *k, int is_first) {
  for (int32_t row = k->rows.first; row < k->rows.end; row++) {
    const int32_t *const sums = (const int32_t *)r->sums + row * r->width;
    int32_t *const totals = r->totals + row * r->width;
    for (int32_t i = k->columns.first; i < k->columns.end; i++) totals[i] = sums[i] - ORIGIN_BITS + (is_first ? 0 : totals[i]);
  }
}

/* What a row of totals becomes. Steps are added up: a multiplication takes longer. */
static __attribute__((noinline)) void plain_row(const int32_t *from, int32_t origin, const int32_t *bias, int32_t bias_step, TW_Y *to,
                                                int32_t to_step, int32_t count) {
  for (; count > 0; count--, bias += bias_step, to += to_step)
    *to = (TW_Y)((uint32_t)*from++ - (uint32_t)origin + (uint32_t)*bias);
}

typedef struct {
  const int32_t *bias, *mul, *add;
  int32_t bias_step, mul_step, add_step;
} scales;

static __attribute__((noinline)) void scaled_row(const int32_t *from, int32_t origin, scales s, tw_requant requant, TW_Y *to,
                                                 int32_t to_step, int32_t count) {
  for (; count > 0; count--, to += to_step) {
    const int32_t total = (int32_t)((uint32_t)*from++ - (uint32_t)origin + (uint32_t)*s.bias);
    *to = (TW_Y)tw_requantise(&requant, total, *s.mul, *s.add);
    s.bias += s.bias_step;
    s.mul += s.mul_step;
    s.add += s.add_step;
  }
}

/* Results of this core's part from totals, which are `origin` more than they should be. */
static void finish(const rooms *r, const tw_sums *k, const int32_t *totals, int32_t origin, const int32_t *c, const int32_t *mul,
                   const int32_t *add, TW_Y *y) {
  const int32_t none = 0;
  const tw_matmul_params *const p = r->p;
  const int32_t first = k->columns.first, count = tw_min(k->columns.end, p->columns) - first;
  for (int32_t row = k->rows.first; row < k->rows.end; row++) {
    const int32_t *const from = totals + row * r->width + first;
    const int32_t *const bias = c ? c + row * p->c_row + first * p->c_column : &none;
    const int32_t bias_step = c ? p->c_column : 0;
    TW_Y *const to = y + row * p->y_row + first * p->y_column;
    if (p->requantised) {
      const int32_t *const summand = add ? add + row * p->add_row + first * p->add_column : &none;
      const scales s = {bias, mul + row * p->mul_row + first * p->mul_column, summand, bias_step, p->mul_column,
                        add ? p->add_column : 0};
      scaled_row(from, origin, s, p->requant, to, p->y_column, count);
    } else {
      plain_row(from, origin, bias, bias_step, to, p->y_column, count);
    }
  }
}

static void sum_groups(const rooms *r, tw_sums *k, const TW_A *a, void *copies) {
  for (int32_t first = 0; first < r->p->inner; first += k->inner) {
    k->a = a + first * r->p->a_column;
    k->b = r->b + first * r->width;
    k->inner = tw_taken(r->p->inner - first, r->group);
    tw_sums_copies(k, r->p->inner, copies);
    tw_sum_up(k);
    if (r->totals) add_to_totals(r, k, first == 0);
  }
}

void TW_NAME(const tw_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_matmul_params *const p = params;
  if (tw_batch_is_empty(p)) return;
  float *copies;
  const rooms r = rooms_in(p, scratch, &copies);
  tw_sums k = {.p = &r, .b_row = r.width, .begin = r.origins, .y = r.sums, .y_row = r.width};
  tw_sums_cut(&k, p->rows, r.width, 10);
  fill_tables(&r);
  tw_barrier();
  tw_batch batch = {{0}, 0, 0, 0, 0};
  int32_t converted = -1;
  do {
    if (batch.b != converted) {
      if (converted >= 0) tw_barrier();
      converted = batch.b;
      convert_b(&r, b + converted);
      tw_barrier();
    }
    sum_groups(&r, &k, a + batch.a, copies);
    const int32_t *const totals = r.totals ? r.totals : (const int32_t *)r.sums;
    finish(&r, &k, totals, r.totals ? 0 : ORIGIN_BITS, c ? c + batch.c : 0, mul, add, y + batch.y);
  } while (tw_batch_next(p, &batch));
}
