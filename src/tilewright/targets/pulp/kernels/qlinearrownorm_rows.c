/* y = requant(c / sqrt(mean of c * c + epsilon) * mul + add), row by row, where c = n * x, less the sum if centred; all
 * cores together. Numbers of 64 bits are there for whole rows, and for elements that are next to a tie. */
#include "qlinearrownorm.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearrownorm_rows_i16
#define TW_X int16_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "dot.h"
#include "high_word.h"
#include "norm_lines.h"
#include "root64.h"

#define TW_X_SIGNED ((TW_X)-1 < 0)
#define UNIT_BITS 20 /* fraction bits of a normalised element */
#define ROOT_BITS 31

/* ---- a row as a whole ---- */

typedef struct {
  int32_t sum;
  uint64_t squares;
} sums;

#if TW_XPULP
#define TW_A_SUM(x) TW_A_R(TW_E_SDOTSP2, "%[sum]", x, "%[ones]")
#define TW_A_SQUARES(x) TW_A_R(TW_E_DOTSP2, x, x, x)
#define TW_A_WIDE_ADD(x) "add %[low], %[low], " x "\nsltu " x ", %[low], " x "\nadd %[high], %[high], " x "\n"
/* Two pairs of signed numbers at a time; the squares of a pair fit an unsigned word. */
static inline void sums_of_pairs(sums *s, const void *x, int32_t turns) {
  uint32_t low = 0, high = 0, first, second;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[turns]", 12) TW_A_LW("%[a]", "%[x]", "4") TW_A_LW("%[b]", "%[x]", "4")
                   TW_A_SUM("%[a]") TW_A_SUM("%[b]") TW_A_SQUARES("%[a]") TW_A_SQUARES("%[b]") TW_A_WIDE_ADD("%[a]")
                   TW_A_WIDE_ADD("%[b]") TW_A_END
                   : [x] "+r"(x), [sum] "+r"(s->sum), [low] "+r"(low), [high] "+r"(high), [a] "=&r"(first),
                     [b] "=&r"(second)
                   : [turns] "r"(turns), [ones] "r"(0x00010001)
                   : "memory");
  s->squares += (uint64_t)high << 32 | low;
}
#endif

#if TW_XPULP
/* Eight bytes at a time. Returns how many are summed. */
static inline int32_t sums_of_words(const void *x, int32_t length, int32_t *sum, int32_t *squares) {
  const int32_t turns = length >> 3;
  int32_t first, second;
  if (turns == 0) return 0;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[turns]", 6) TW_A_LW("%[a]", "%[x]", "4") TW_A_LW("%[b]", "%[x]", "4")
                   TW_A_DOT("%[sum]", "%[a]", "%[ones]") TW_A_DOT("%[squares]", "%[a]", "%[a]")
                   TW_A_DOT("%[sum]", "%[b]", "%[ones]") TW_A_DOT("%[squares]", "%[b]", "%[b]") TW_A_END
                   : [x] "+r"(x), [sum] "+r"(*sum), [squares] "+r"(*squares), [a] "=&r"(first), [b] "=&r"(second)
                   : [turns] "r"(turns), [ones] "r"(0x01010101), [dot] "i"(TW_I_DOT(TW_X_SIGNED, TW_X_SIGNED))
                   : "memory");
  return 8 * turns;
}
#endif

static inline __attribute__((always_inline)) sums sums_of(const TW_X *x, int32_t length) {
  sums s = {0, 0};
  int32_t done = 0;
#if TW_XPULP
  if (sizeof(TW_X) == 2 && TW_X_SIGNED && length >= 4) {
    sums_of_pairs(&s, x, length >> 2);
    done = length & ~3;
  }
#endif
  if (sizeof(TW_X) == 1) {
    int32_t squares = 0;
#if TW_XPULP
    done = sums_of_words(x, length, &s.sum, &squares);
#endif
    for (; done + 4 <= length; done += 4) {
      const uint32_t word = tw_x_load(x + done);
      s.sum = tw_dot(s.sum, word, 0x01010101u, TW_X_SIGNED, 1);
      squares = tw_dot(squares, word, word, TW_X_SIGNED, TW_X_SIGNED);
    }
    s.squares = (uint32_t)squares;
  }
  for (; done < length; done++) {
    s.sum += x[done];
    s.squares += (uint32_t)x[done] * (uint32_t)x[done];
  }
  return s;
}

typedef struct {
  int32_t factor, offset; /* n * (x - x_zero) - sum, shifted to the left: x * factor + offset */
  uint32_t inverse;       /* by which it is multiplied; the upper word of the product is a unit, */
  int32_t half, back;     /* after half was added and it was shifted back */
} row_scale;

/* What a row amounts to: the sum of x - x_zero where it counts, and the square of the root that elements are divided by, as a
 * number from 2^60 to 2^62 that was shifted to the left by so many pairs of bits. */
typedef struct {
  int32_t sum, pairs;
  uint64_t square;
} row_spread;

static inline __attribute__((always_inline)) row_spread spread_of(const tw_qlinearrownorm_params *p, const sums s) {
  const int32_t length = p->length, zero = p->x_zero, total = s.sum - length * zero;
  /* Of x - x_zero. */
  const uint64_t squares = (uint64_t)((int64_t)s.squares - (int64_t)zero * (s.sum + total));
  const int32_t sum = p->centred ? total : 0;
  const uint64_t variance = squares * (uint32_t)length - (uint64_t)((int64_t)sum * sum);
  uint64_t spread = (variance << p->fraction) + (uint64_t)p->epsilon;
  /* All elements are the same: whatever they are divided by, zero is zero. */
  if (spread == 0) spread = 1;
  const uint32_t upper = (uint32_t)(spread >> 32);
  const int32_t bits = upper ? 32 + tw_x_fl1(upper) : tw_x_fl1((uint32_t)spread);
  const int32_t pairs = (2 * ROOT_BITS - 1 - bits) >> 1;
  const row_spread found = {sum, pairs, spread << (2 * pairs)};
  return found;
}

/* By how many bits products with the inverse root are larger than units. */
static inline int32_t down_of(const tw_qlinearrownorm_params *p, const row_spread *s) {
  return 2 * ROOT_BITS - 1 - UNIT_BITS - (p->fraction >> 1) - s->pairs;
}

static TW_COMPACT row_scale measure(const tw_qlinearrownorm_params *p, const TW_X *x) {
  const row_spread s = spread_of(p, sums_of(x, p->length));
  const int32_t down = down_of(p, &s), up = down < 33 ? 33 - down : 0, back = down + up - 32;
  const uint32_t length = (uint32_t)p->length;
  row_scale scale;
  tw_root_and_inverse(s.square, &scale.inverse);
  scale.factor = (int32_t)(length << up);
  scale.offset = (int32_t)((0u - (uint32_t)s.sum - length * (uint32_t)p->x_zero) << up);
  scale.half = 1 << (back - 1);
  scale.back = back;
  return scale;
}

/* ---- its elements ---- */

typedef struct {
  int32_t shift, back;
  int32_t add;  /* half and the zero point, and one more */
  int32_t mask; /* with that one: bits below the shift that are zero where the lower word may count */
} narrowing;

static inline narrowing narrowing_of(const tw_qlinearrownorm_params *p) {
  const tw_requant *const r = &p->requant;
  const int32_t shift = r->shift - 32, half = 1 << (shift - 1);
  const narrowing n = {shift, 32 - p->lift, half + (int32_t)((uint32_t)r->zero_point << shift) + 1, 2 * half - 2};
  return n;
}

static TW_COMPACT int32_t exactly(const tw_qlinearrownorm_params *p, int32_t unit, int32_t mul, int32_t add) {
  return tw_narrow(&p->requant, (int64_t)unit * mul + (int64_t)add * ((int64_t)1 << p->lift));
}

/* Without the lower word, the sum may be too small by one, or a tie. */
static inline int32_t scaled(const tw_qlinearrownorm_params *p, const row_scale *s, const narrowing *n, int32_t x,
                             int32_t mul, int32_t add) {
  const int32_t unit = tw_x_addn(tw_upper_unsigned(tw_x_mac(s->offset, x, s->factor), s->inverse), (uint32_t)s->half,
                                 (uint32_t)s->back);
  const int32_t sum = tw_upper(unit, mul) + (add >> n->back) + n->add;
  if (TW_COLD(!(sum & n->mask))) return exactly(p, unit, mul, add);
  return TW_CLIP_TO(TW_Y, sum >> n->shift);
}

static __attribute__((noinline)) void scale_row(const tw_qlinearrownorm_params *p, const row_scale *scale, const TW_X *x,
                                                const int32_t *mul, const int32_t *add, TW_Y *y, int32_t count) {
  const row_scale s = *scale;
  const narrowing n = narrowing_of(p);
  for (; count > 0; count--) {
    const int32_t given = TW_NEXT(TW_X, x, sizeof(TW_X));
    const int32_t factor = TW_NEXT(int32_t, mul, 4), summand = TW_NEXT(int32_t, add, 4);
    TW_STORE_NEXT(TW_Y, y, scaled(p, &s, &n, given, factor, summand), sizeof(TW_Y));
  }
}

/* ---- bytes, two rows at a time ---- */

#define TW_BATCH 8 /* rows that are measured before any is scaled: the code of each stays in the instruction cache */
#define TW_PART 64 /* elements that are mended at a time */

#if TW_XPULP
/* The low word of a * b / 2^shift; shifts are from 1 to 31. */
static inline int32_t rounded_product(int32_t a, uint32_t b, int32_t shift) {
  const uint32_t low = (uint32_t)a * b, high = (uint32_t)tw_upper_unsigned(a, b);
  return (int32_t)((high << (32 - shift)) + (low >> shift) + (low >> (shift - 1) & 1));
}

/* Returns whether there is one. */
static __attribute__((noinline)) int line_of(const tw_qlinearrownorm_params *p, const tw_norm_lines *l, const TW_X *x,
                                             tw_norm_line *line) {
  const row_spread s = spread_of(p, sums_of(x, p->length));
  const int32_t shift = down_of(p, &s) - l->below;
  if (shift < 1 || shift > 31) return 0;
  const uint32_t inverse = tw_inverse_root_estimate((uint32_t)(s.square >> 32), 4);
  line->slope = rounded_product(p->length, inverse, shift);
  line->start = rounded_product(-(s.sum + p->length * p->x_zero), inverse, shift);
  return 1;
}

/* Rows from the first on, and their columns. */
typedef struct {
  const TW_X *x;
  const int32_t *mul, *add;
  TW_Y *y;
} norm_rows;

/* Some neighbours in a row, otherwise. */
static TW_COMPACT void mend(const tw_qlinearrownorm_params *p, const norm_rows *r, int32_t row, int32_t first, int32_t count) {
  const row_scale scale = measure(p, r->x + row * p->length);
  const int32_t at = row * p->length + first;
  scale_row(p, &scale, r->x + at, r->mul + first, r->add + first, r->y + at, count);
}

/* Two rows, or the same one twice. */
static inline void scale_two(const tw_qlinearrownorm_params *p, const tw_norm_lines *l, const norm_rows *r,
                             const tw_norm_line *lines, int32_t i, int32_t j) {
  for (int32_t first = 0; first < p->length; first += TW_PART) {
    const int32_t count = tw_x_min(p->length - first, TW_PART), a = i * p->length + first, b = j * p->length + first;
    const int wrong = tw_norm_two_rows(l, lines + i, lines + j, r->x + a, r->x + b, r->mul + first, r->add + first, r->y + a,
                                       r->y + b, count, TW_X_SIGNED, (TW_Y)-1 < 0);
    if (TW_COLD(wrong & 1)) mend(p, r, i, first, count);
    if (TW_COLD(wrong & 2)) mend(p, r, j, first, count);
  }
}

/* At most TW_BATCH rows. The last one may be alone. */
static inline void scale_batch(const tw_qlinearrownorm_params *p, const tw_norm_lines *l, const norm_rows *r, int32_t rows) {
  tw_norm_line lines[TW_BATCH];
  uint32_t missing = 0;
  for (int32_t i = 0; i < rows; i++) missing |= line_of(p, l, r->x + i * p->length, lines + i) ? 0 : 1u << i;
  for (int32_t i = 0; i < rows; i += 2) {
    const int32_t j = tw_x_min(i + 1, rows - 1);
    if (missing & (1u << i | 1u << j)) {
      mend(p, r, i, 0, p->length);
      mend(p, r, j, 0, p->length);
    } else {
      scale_two(p, l, r, lines, i, j);
    }
  }
}

/* Returns whether they are scaled. */
static inline int scale_by_lines(const tw_qlinearrownorm_params *p, const TW_X *x, const int32_t *mul, const int32_t *add,
                                 TW_Y *y, tw_share rows) {
  tw_norm_lines l;
  if (sizeof(TW_X) != 1 || sizeof(TW_Y) != 1 || p->groups > 1) return 0;
  if (!tw_norm_lines_of(&l, &p->requant, UNIT_BITS, p->length, p->lift, mul, TW_X_SIGNED ? 128 : 255)) return 0;
  for (int32_t row = rows.first; row < rows.end; row += TW_BATCH) {
    const norm_rows from = {x + row * p->length, mul, add, y + row * p->length};
    scale_batch(p, &l, &from, tw_x_min(rows.end - row, TW_BATCH));
  }
  return 1;
}
#endif

void TW_NAME(const tw_qlinearrownorm_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  const tw_qlinearrownorm_params *const p = params;
  const int32_t length = p->length, by_rows = p->rows >= TW_CORES;
  const tw_share all_rows = {0, p->rows}, all = {0, length};
  const tw_share rows = by_rows ? tw_share_of(p->rows) : all_rows;
  const tw_share part = by_rows ? all : tw_share_of(length);
  const int32_t first = part.first, count = part.end - first;
  if (count <= 0) return;
#if TW_XPULP
  if (by_rows && scale_by_lines(p, x, mul, add, y, rows)) return;
#endif
  for (int32_t row = rows.first; row < rows.end; row++) {
    const TW_X *const from = x + row * length;
    const int32_t group = p->groups > 1 ? row % p->groups * length + first : first;
    const row_scale scale = measure(p, from);
    scale_row(p, &scale, from + first, mul + group, add + group, y + row * length + first, count);
  }
}
