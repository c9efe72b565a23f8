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

/* The streams are the row, factors and summands. */
#define TW_BLOCK_STEPS                                                                                      \
  TW_ALL_EIGHT("x3", "fmadd.d f8, ft0, ft3, ft4")     /* n * x - sum */                                     \
  TW_ALL_EIGHT("x7", "fmadd.d f8, f8, ft5, ft6, rmm") /* times the inverse, rounded: halves go up */        \
  TW_ALL_EIGHT("x7", "fsub.d f8, f8, ft6")                                                                  \
  TW_ALL_EIGHT("x7", "fmadd.d f8, f8, ft1, ft2")                                                            \
  TW_ALL_EIGHT("x7", "fadd.d f8, f8, ft7")
#include "byte_blocks.h"

#define UNIT_BITS 20 /* fraction bits of a normalised element */
#define ROOT_BITS 31

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

static void scale_row(const tables *t, const tw_qlinearrownorm_params *p, const row_scale *s, TW_Y *y) {
  const int32_t blocks = p->length / BLOCK;
  if (blocks > 0) {
    begin_scaling(t, BLOCK * blocks, s);
    scale_blocks(&p->requant, t->results, y, blocks);
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
  const tables t = tables_in(scratch, p.length, p.length);
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
