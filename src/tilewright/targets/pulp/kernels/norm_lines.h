/* Normalised bytes, two rows at a time. A unit is a line of its byte, x * slope + start, with some bits below its last place;
 * products with factors are right but for a known distance, and parts of rows with a result that lies nearer to a rounding
 * than that are mended. 16 cycles for an element, of which 5 are the product. */
#ifndef TW_NORM_LINES_H
#define TW_NORM_LINES_H

#include "dot.h"
#include "high_word.h"

#define TW_LINE_BITS 31      /* of units with what is below */
#define TW_LINE_LEAST_BACK 3 /* what summands are shifted by at least, so that sums fit a word */
#define TW_LINE_MOST_SHIFT 20

typedef struct {
  int32_t slope, start;
} tw_norm_line;

/* Of all rows. */
typedef struct {
  int32_t below;             /* bits of a unit below its last place */
  int32_t back, add;         /* of summands: how far they are shifted, and what they have besides */
  int32_t shift, mask, high; /* of sums: no bit of the mask is set near a rounding */
} tw_norm_lines;

static inline uint32_t tw_largest_magnitude(const int32_t *values, int32_t count) {
  int32_t low = 0, high = 0;
  for (int32_t i = 0; i < count; i++) low = tw_x_min(low, values[i]), high = tw_x_max(high, values[i]);
  return (uint32_t)tw_x_max(high, -(low + 1)) + 1;
}

/* Returns whether numbers fit words. Units are at most the root of a row's length. How far they are off: by half of a slope's last
 * place for each of up to `reach` steps of a byte, by half of the start's and of the unit's own, and by 2^-27 of themselves, as
 * the inverse root is; sums besides by what is dropped below them. */
static inline int tw_norm_lines_of(tw_norm_lines *l, const tw_requant *r, int32_t unit_bits, int32_t length, int32_t lift,
                                   const int32_t *mul, uint32_t reach) {
  const int32_t room = TW_LINE_BITS - unit_bits - ((tw_x_fl1((uint32_t)length) + 2) >> 1);
  const int32_t below = tw_x_min(room, TW_LINE_MOST_SHIFT + 32 - r->shift);
  const int32_t shift = r->shift - 32 + below;
  if (below < 1 || shift < 8 || 32 - lift - below < TW_LINE_LEAST_BACK) return 0;
  const uint32_t off = reach / 2 + 1 + (1u << (TW_LINE_BITS - 27)) + (1u << (below - 1));
  const uint32_t apart = (uint32_t)((uint64_t)off * tw_largest_magnitude(mul, length) >> 32) + 4;
  const int32_t zone = tw_x_fl1(apart) + 2;
  if (zone >= shift) return 0;
  l->below = below, l->back = 32 - lift - below, l->shift = shift;
  l->add = (1 << (shift - 1)) + (int32_t)((uint32_t)r->zero_point << shift) + (1 << (zone - 1));
  l->mask = (int32_t)((1u << shift) - (1u << zone));
  l->high = r->high;
  return 1;
}

#if TW_XPULP
#define TW_A_NEXT_X(d, x) ".insn i 0x0b, %[load], " d ", " x ", 1\n"
#define TW_A_STORE_BYTE(d, y) ".insn s 0x2b, 0, " d ", 1(" y ")\n"
#define TW_A_LINE(t, x, slope, start) "mv " t ", " start "\n" TW_A_R(TW_E_MAC, t, x, slope)
#define TW_A_NEAR(t, x, least) "and " x ", " t ", %[mask]\n" TW_A_R(TW_E_MIN, least, least, x)
#define TW_A_NORM_RESULT(t) "sra " t ", " t ", %[shift]\n" TW_A_CLIP_BYTE(t, "%[high]")

/* Some neighbours in both. Returns a bit for each row that is to be mended. */
static inline int tw_norm_two_rows(const tw_norm_lines *l, const tw_norm_line *first, const tw_norm_line *second,
                                   const void *x0, const void *x1, const int32_t *mul, const int32_t *add, void *y0, void *y1,
                                   int32_t count, int x_signed, int y_signed) {
  int32_t least0 = INT32_MAX, least1 = INT32_MAX, t0, t1, a, b, m, s;
  __asm__ volatile(
      TW_A_BEGIN TW_A_LOOP("%[count]", 24) TW_A_LW("%[m]", "%[mul]", "4") TW_A_LW("%[s]", "%[add]", "4")
      TW_A_NEXT_X("%[a]", "%[x0]") TW_A_NEXT_X("%[b]", "%[x1]") "sra %[s], %[s], %[back]\nadd %[s], %[s], %[more]\n"
      TW_A_LINE("%[t0]", "%[a]", "%[slope0]", "%[start0]") TW_A_LINE("%[t1]", "%[b]", "%[slope1]", "%[start1]")
      "mulh %[t0], %[t0], %[m]\nmulh %[t1], %[t1], %[m]\nadd %[t0], %[t0], %[s]\nadd %[t1], %[t1], %[s]\n"
      TW_A_NEAR("%[t0]", "%[a]", "%[least0]") TW_A_NEAR("%[t1]", "%[b]", "%[least1]") TW_A_NORM_RESULT("%[t0]") TW_A_NORM_RESULT("%[t1]")
      TW_A_STORE_BYTE("%[t0]", "%[y0]") TW_A_STORE_BYTE("%[t1]", "%[y1]") TW_A_END
      : [x0] "+r"(x0), [x1] "+r"(x1), [y0] "+r"(y0), [y1] "+r"(y1), [mul] "+r"(mul), [add] "+r"(add), [least0] "+r"(least0),
        [least1] "+r"(least1), [t0] "=&r"(t0), [t1] "=&r"(t1), [a] "=&r"(a), [b] "=&r"(b), [m] "=&r"(m), [s] "=&r"(s)
      : [count] "r"(count), [slope0] "r"(first->slope), [start0] "r"(first->start), [slope1] "r"(second->slope),
        [start1] "r"(second->start), [back] "r"(l->back), [more] "r"(l->add), [mask] "r"(l->mask), [shift] "r"(l->shift),
        [high] "r"(l->high), [load] "i"(x_signed ? 0 : 4), [clip] "i"(y_signed ? TW_I_CLIP : TW_I_CLIPU)
      : "memory");
  return (least0 == 0) | (least1 == 0) << 1;
}
#endif

#endif
