/* y = requant(c / sqrt(mean of c * c + epsilon) * mul + add), row by row, where c = n * x, less the sum if centred; all cores
 * together. An integer product takes five cycles here and a double one: bytes become doubles, and every number of an element
 * is exact in them, but for those that are clipped anyway. */
#include "qlinearrownorm.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearrownorm_doubles_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "exact_doubles.h"
#include "streams.h"

#define UNIT_BITS 20 /* fraction bits of a normalised element */
#define ROOT_BITS 31
#define BLOCK 8

/* A byte that is stored as this one of the bytes of 4096.0 is added to it. */
#define BASE 4096.0
#define BYTE_IN_BASE 5
/* Bytes with a sign are stored with 128 added. */
#define IS_SIGNED ((TW_X)-1 < 0)
#define OFFSET (BASE + (IS_SIGNED ? 128.0 : 0.0))

/* What all rows share, and room for one row of each core and for two blocks of results. */
typedef struct {
  double *factor, *summand, *row, *results;
} tables;

static tables tables_in(double *scratch, int32_t length) {
  /* Rows of cores begin in different banks. */
  double *const own = scratch + 2 * length + tw_core() * (length + 2 * BLOCK + 1);
  const tables t = {scratch, scratch + length, own, own + length};
  return t;
}

/* Halves go up where they would go to the even neighbour otherwise: by less than the smallest difference. */
static void fill(const tables *t, const tw_qlinearrownorm_params *p, const int32_t *mul, const int32_t *add) {
  const double unit = tw_power(-p->requant.shift), lifted = tw_power(p->lift - p->requant.shift);
  const double tie = p->requant.rounding == TW_HALF_EVEN ? 0.0 : unit * 0.5;
  const tw_share columns = tw_share_of(p->length);
  for (int32_t i = columns.first; i < columns.end; i++) {
    t->factor[i] = (double)mul[i] * unit;
    t->summand[i] = (double)add[i] * lifted + tie;
  }
  for (int32_t i = 0; i < p->length; i++) t->row[i] = BASE;
}

static inline void put_byte(double *to, uint32_t byte) { ((volatile uint8_t *)to)[BYTE_IN_BASE] = (uint8_t)byte; }

static inline void put_four(double *to, uint32_t bytes) {
  put_byte(to, bytes);
  put_byte(to + 1, bytes >> 8);
  put_byte(to + 2, bytes >> 16);
  put_byte(to + 3, bytes >> 24);
}

/* Bytes as doubles, OFFSET more than they are. */
static void spread_bytes(double *row, const TW_X *x, int32_t length) {
  const uint32_t flip = IS_SIGNED ? 0x80808080u : 0;
  if (((uintptr_t)x & 3) == 0) {
    for (; length >= 8; length -= 8, x += 8, row += 8) {
      const uint32_t *const words = (const uint32_t *)(const void *)x;
      const uint32_t first = words[0], second = words[1];
      put_four(row, first ^ flip);
      put_four(row + 4, second ^ flip);
    }
  }
  for (; length > 0; length--) put_byte(row++, (uint32_t)*x++ ^ flip);
}

typedef struct {
  double sum, squares;
} moments;

/* Four chains of sums and four of squares; each element comes twice. */
static moments moments_of(const double *row, int32_t length) {
  register double sum __asm__("f8") = 0.0;
  register double squares __asm__("f12") = 0.0;
  const int32_t turns = length / 4;
  if (turns > 0) {
    uint32_t ignored;
    tw_stream_repeat(0, 2);
    tw_stream_loop(0, 0, 4 * turns, 8);
    tw_stream_read(0, 1, row);
    __asm__ volatile(
        "fcvt.d.w f9, x0\n fcvt.d.w f10, x0\n fcvt.d.w f11, x0\n fcvt.d.w f13, x0\n fcvt.d.w f14, x0\n fcvt.d.w f15, x0\n"
        "csrsi %[streams], 1\n" TW_REPEAT("%[turns]", 8)
        "fadd.d f8, f8, ft0\n fmadd.d f12, ft0, ft0, f12\n fadd.d f9, f9, ft0\n fmadd.d f13, ft0, ft0, f13\n"
        "fadd.d f10, f10, ft0\n fmadd.d f14, ft0, ft0, f14\n fadd.d f11, f11, ft0\n fmadd.d f15, ft0, ft0, f15\n"
        "fadd.d f8, f8, f9\n fadd.d f10, f10, f11\n fadd.d f12, f12, f13\n fadd.d f14, f14, f15\n"
        "fadd.d f8, f8, f10\n fadd.d f12, f12, f14\n"
        "fmv.x.w %[ignored], fa0\n mv %[ignored], %[ignored]\n csrci %[streams], 1\n"
        : "+f"(sum), "+f"(squares), [ignored] "=&r"(ignored)
        : [turns] "r"(turns - 1), [streams] "i"(TW_STREAMS)
        : "ft0", "ft1", "ft2", "f9", "f10", "f11", "f13", "f14", "f15", "memory");
  }
  for (int32_t i = 4 * turns; i < length; i++) {
    sum += row[i];
    squares = tw_fma(row[i], row[i], squares);
  }
  const moments found = {sum, squares};
  return found;
}

typedef struct {
  double n, sum, inverse, rounder, last; /* in the order of ft3 to ft7 */
  double tie;
} row_scale;

/* As much of the zero point as sums may have without being rounded to another neighbour: an even number where halves go to
 * that. */
static inline int32_t zero_in_sums(const tw_requant *r) {
  return r->rounding == TW_HALF_EVEN ? r->zero_point & ~1 : r->zero_point;
}

/* From the moments of elements that are more by what stands for zero than they mean. */
static row_scale scale_of(const tw_qlinearrownorm_params *p, const moments *m) {
  const uint64_t one = (uint64_t)1 << p->fraction;
  const double n = (double)p->length, zero = OFFSET + (double)p->x_zero;
  const double total = m->sum - n * zero, sum = p->centred ? total : 0.0;
  const double squares = m->squares - zero * (m->sum + total);
  uint64_t spread = (tw_integer(squares * n - sum * sum) << p->fraction) + (uint64_t)p->epsilon;
  /* Less than one only where all elements are the same: whatever they are divided by, zero is zero. */
  if (spread < one) spread = one;
  const int32_t pairs = (tw_leading_zeros(spread) - 2) / 2;
  const uint32_t inverse = tw_quotient((uint64_t)1 << (2 * ROOT_BITS - 1), tw_root64(spread << (2 * pairs)));
  const double unit = tw_power(-(2 * ROOT_BITS - 1 - UNIT_BITS - p->fraction / 2 - pairs));
  const row_scale scale = {n, -sum - n * zero, (double)inverse * unit, TW_ROUNDER, TW_ROUNDER + (double)zero_in_sums(&p->requant), unit * 0.5};
  return scale;
}

static inline int32_t clipped(const tw_requant *r, int32_t value) {
  const int32_t low = r->low - r->zero_point, high = r->high - r->zero_point;
  return (value < low ? low : value > high ? high : value) + r->zero_point;
}

/* Eight elements go side by side: each step of one takes as long as four. The streams are the row, factors and summands. */
#define ALL_EIGHT(counted, instruction) ".insn i 0x0b, 7, " counted ", %[seven], 0\n" instruction "\n"
static inline void scale_block(double *results) {
  __asm__ volatile(
      ALL_EIGHT("x3", "fmadd.d f8, ft0, ft3, ft4")          /* n * x - sum */
      ALL_EIGHT("x7", "fmadd.d f8, f8, ft5, ft6, rmm")      /* times the inverse, rounded: halves go up */
      ALL_EIGHT("x7", "fsub.d f8, f8, ft6")
      ALL_EIGHT("x7", "fmadd.d f8, f8, ft1, ft2")
      ALL_EIGHT("x7", "fadd.d f8, f8, ft7")
      "fsd f8, 0(%[to])\n fsd f9, 8(%[to])\n fsd f10, 16(%[to])\n fsd f11, 24(%[to])\n"
      "fsd f12, 32(%[to])\n fsd f13, 40(%[to])\n fsd f14, 48(%[to])\n fsd f15, 56(%[to])\n"
      :
      : [seven] "r"(BLOCK - 1), [to] "r"(results)
      : "ft0", "ft1", "ft2", "f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15", "memory");
}

/* The integer core waits only for what is not stored yet. `rest` is what sums lack of the zero point. */
static inline void store_block(const double *results, TW_Y *y, int32_t low, int32_t high, int32_t rest) {
  int32_t v[BLOCK];
  for (int32_t j = 0; j < BLOCK; j++) v[j] = tw_rounded(results + j);
  for (int32_t j = 0; j < BLOCK; j++) {
    if (v[j] < low) v[j] = low;
    if (v[j] > high) v[j] = high;
  }
  for (int32_t j = 0; j < BLOCK; j++) y[j] = (TW_Y)(v[j] + rest);
}

static inline void begin_scaling(const tables *t, int32_t count, const row_scale *s) {
  tw_stream_repeat(0, 1);
  tw_stream_repeat(1, 1);
  tw_stream_repeat(2, 1);
  tw_stream_loop(0, 0, count, 8);
  tw_stream_loop(1, 0, count, 8);
  tw_stream_loop(2, 0, count, 8);
  tw_stream_read(0, 1, t->row);
  tw_stream_read(1, 1, t->factor);
  tw_stream_read(2, 1, t->summand);
  __asm__ volatile("fld ft3, 0(%0)\n fld ft4, 8(%0)\n fld ft5, 16(%0)\n fld ft6, 24(%0)\n fld ft7, 32(%0)" : : "r"(s)
                   : "ft3", "ft4", "ft5", "ft6", "ft7", "memory");
  tw_streams_on();
}

/* Results of one block are stored while the unit computes the next one. */
static inline void scale_blocks(double *results, TW_Y *y, int32_t blocks, int32_t low, int32_t high, int32_t rest) {
  double *made = results, *next = results + BLOCK;
  scale_block(made);
  for (; blocks > 1; blocks--, y += BLOCK) {
    scale_block(next);
    store_block(made, y, low, high, rest);
    double *const other = made;
    made = next;
    next = other;
  }
  store_block(made, y, low, high, rest);
}

static void scale_row(const tables *t, const tw_qlinearrownorm_params *p, const row_scale *s, TW_Y *y) {
  const int32_t blocks = p->length / BLOCK, rest = p->requant.zero_point - zero_in_sums(&p->requant);
  const int32_t low = p->requant.low - rest, high = p->requant.high - rest;
  if (blocks > 0) {
    begin_scaling(t, BLOCK * blocks, s);
    if (rest == 0) {
      scale_blocks(t->results, y, blocks, low, high, 0);
    } else {
      scale_blocks(t->results, y, blocks, low, high, rest);
    }
    tw_streams_off();
  }
  for (int32_t i = BLOCK * blocks; i < p->length; i++) {
    const double unit = tw_fma(tw_fma(t->row[i], s->n, s->sum), s->inverse, s->tie);
    t->results[0] = tw_fma((unit + TW_ROUNDER) - TW_ROUNDER, t->factor[i], t->summand[i]) + TW_ROUNDER;
    y[i] = (TW_Y)clipped(&p->requant, tw_rounded(t->results));
  }
}

void TW_NAME(const tw_qlinearrownorm_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y,
             void *scratch) {
  const tw_qlinearrownorm_params p = *params;
  const tables t = tables_in(scratch, p.length);
  const tw_share share = tw_share_of(p.rows);
  fill(&t, &p, mul, add);
  tw_barrier();
  for (int32_t row = share.first; row < share.end; row++) {
    spread_bytes(t.row, x + row * p.length, p.length);
    const moments found = moments_of(t.row, p.length);
    const row_scale scale = scale_of(&p, &found);
    scale_row(&t, &p, &scale, y + row * p.length);
  }
}
