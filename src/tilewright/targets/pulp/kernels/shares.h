/* Shares of a row of bytes TW_X by their exponentials, stored as bytes TW_Y. A byte is at most 255 below its row's largest,
 * so that tables hold all exponentials, and what becomes of each share. */
#ifndef TW_SHARES_H
#define TW_SHARES_H

#include "lanes.h"
#include "share_tables.h"

#define TW_X_SIGNED ((TW_X)-1 < 0)
#define TW_X_BYTE(word, lane) (TW_X_SIGNED ? tw_x_byte(word, lane) : tw_x_ubyte(word, lane))
/* Those below two to this power can be multiplied by halves of a reciprocal. */
#define TW_HALF_BITS 16

/* Offsets that products are added to must not be negative: signed bytes are counted from the lowest one on. Whoever has
 * only unsigned ones says so. */
#ifdef TW_X_UNSIGNED
#define TW_A_FLIP
#define TW_FLIP_LINES 0
#define TW_FLIP
#else
#define TW_A_FLIP "xor %[word], %[word], %[flip]\n"
#define TW_FLIP_LINES 1
#define TW_FLIP [flip] "r"(TW_X_SIGNED ? 0x80808080u : 0u),
#endif
#define TW_A_LOOP_OF(count, lines) TW_A_LOOP(count, (lines))

/* What the shares of a row are made of. Entry x of its table is the exponential of x less the row's largest value. */
typedef struct {
  const uint32_t *table;
  const uint8_t *results;
  uint32_t top, total, reciprocal, shift;
} row_values;

/* Lanes of x times 4 are offsets in a table of words: one dot product each. */
#define TW_A_OFFSETS(w, d0, d1, d2, d3)                                               \
  TW_A_DOT_FIRST(d0, w, "%[l0]") TW_A_DOT_FIRST(d1, w, "%[l1]")                       \
  TW_A_DOT_FIRST(d2, w, "%[l2]") TW_A_DOT_FIRST(d3, w, "%[l3]")
#define TW_A_EXPONENTIAL(d) TW_A_WORD_AT(d, "%[table]", d)
#define TW_LANES [l0] "r"(4), [l1] "r"(4 << 8), [l2] "r"(4 << 16), [l3] "r"(4 << 24)

static inline __attribute__((always_inline)) uint32_t total_of(const uint32_t *table, const TW_X *x, int32_t length) {
  uint32_t total = 0;
#if TW_XPULP
  if (length >= 4) {
    uint32_t word, e0, e1, e2, e3 = 0;
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[words]", 13) TW_A_LW("%[word]", "%[x]", "4") "add %[total], %[total], %[e3]\n"
                     TW_A_OFFSETS("%[word]", "%[e0]", "%[e1]", "%[e2]", "%[e3]")
                     TW_A_FOUR(TW_A_EXPONENTIAL, "%[e0]", "%[e1]", "%[e2]", "%[e3]") "add %[total], %[total], %[e0]\n"
                     "add %[total], %[total], %[e1]\nadd %[total], %[total], %[e2]\n" TW_A_END
                     : [x] "+r"(x), [total] "+r"(total), [word] "=&r"(word), [e0] "=&r"(e0), [e1] "=&r"(e1),
                       [e2] "=&r"(e2), [e3] "+r"(e3)
                     : [words] "r"(length >> 2), [table] "r"(table), TW_LANES,
                       [first] "i"(TW_I_FIRST(TW_X_SIGNED, TW_X_SIGNED))
                     : "memory");
    total += e3;
  }
  length &= 3;
#endif
  for (; length > 0; length--) total += tw_x_word_at(table, *x++);
  return total;
}

/* ---- shares: e * top / total, rounded down ---- */

/* By a reciprocal of total that is too large, but by so little that no quotient is. PRODUCT multiplies an exponential, in
 * LINES instructions more than one and with operands of its own; ONE is the whole quotient in C. */
#if TW_XPULP
#define TW_A_SRL(d) "srl " d ", " d ", %[shift]\n"
#define TW_A_RESULT(d) TW_A_BYTE_AT(d, "%[results]", d)
/* The shares of a word of bytes, in 22 instructions and 4 * LINES more. */
#define TW_A_SHARES(PRODUCT)                                                                                         \
  TW_A_OFFSETS("%[word]", "%[d0]", "%[d1]", "%[d2]", "%[d3]")                                                        \
  TW_A_WORD_AT("%[e0]", "%[table]", "%[d0]") TW_A_WORD_AT("%[e1]", "%[table]", "%[d1]")                              \
  TW_A_WORD_AT("%[e2]", "%[table]", "%[d2]") TW_A_WORD_AT("%[e3]", "%[table]", "%[d3]")                              \
  PRODUCT("%[d0]", "%[e0]") PRODUCT("%[d1]", "%[e1]") PRODUCT("%[d2]", "%[e2]") PRODUCT("%[d3]", "%[e3]")            \
  TW_A_FOUR(TW_A_SRL, "%[d0]", "%[d1]", "%[d2]", "%[d3]") TW_A_FOUR(TW_A_RESULT, "%[d0]", "%[d1]", "%[d2]", "%[d3]") \
  TW_A_PACK4("%[d0]", "%[d1]", "%[d2]", "%[d3]")
#define TW_SHARES_LOOP(PRODUCT, LINES, ...)                                                                          \
  if (length >= 4) {                                                                                                 \
    uint32_t word, d0, d1, d2, d3, e0, e1, e2, e3;                                                                   \
    __asm__ volatile(                                                                                                \
        TW_A_BEGIN TW_A_LOOP_OF("%[words]", 24 + 4 * LINES + TW_FLIP_LINES)                                          \
        TW_A_LW("%[word]", "%[x]", "4") TW_A_FLIP TW_A_SHARES(PRODUCT) TW_A_SW("%[d0]", "%[y]", "4") TW_A_END         \
        : [x] "+r"(x), [y] "+r"(y), [word] "=&r"(word), [d0] "=&r"(d0), [d1] "=&r"(d1), [d2] "=&r"(d2),              \
          [d3] "=&r"(d3), [e0] "=&r"(e0), [e1] "=&r"(e1), [e2] "=&r"(e2), [e3] "=&r"(e3)                             \
        : [words] "r"(length >> 2), [table] "r"(row->table - 128 * TW_X_SIGNED), [results] "r"(row->results),        \
          [reciprocal] "r"(row->reciprocal), [shift] "r"(row->shift), TW_FLIP TW_LANES, __VA_ARGS__                  \
          [first] "i"(TW_I_FIRST_UU)                                                                                 \
        : "memory");                                                                                                 \
  }                                                                                                                  \
  length &= 3;
#else
#define TW_SHARES_LOOP(PRODUCT, LINES, ...)
#endif
#define TW_DEFINE_SHARES(NAME, ONE, ...)                                                                             \
  static inline void NAME(const row_values *row, const TW_X *x, TW_Y *y, int32_t length) {                           \
    TW_SHARES_LOOP(__VA_ARGS__)                                                                                      \
    for (; length > 0; length--) {                                                                                   \
      const uint32_t e = tw_x_word_at(row->table, *x++);                                                             \
      *y++ = (TW_Y)row->results[ONE];                                                                                \
    }                                                                                                                \
  }

/* The product is added to the offset in the table, which is below TW_OFFSETS: nothing has to be cleared for it. */
#define TW_OFFSETS 1024
#define TW_A_MAC(d, e) TW_A_R(TW_E_MAC, d, e, "%[reciprocal]")
#define TW_A_MULHU(d, e) "mulhu " d ", " e ", %[reciprocal]\n"
/* What the lower half of the reciprocal contributes is rounded down first, which does not change the whole rounded down. */
#define TW_A_HALVES(d, e) TW_A_R(TW_E_MULU16, d, e, "%[reciprocal]") TW_A_R(TW_E_MAC, d, e, "%[upper]")
#define TW_UPPER [upper] "r"(row->reciprocal >> 16),
TW_DEFINE_SHARES(share_out_low, e *row->reciprocal >> row->shift, TW_A_MAC, 0, )
TW_DEFINE_SHARES(share_out_halves, (uint64_t)e *row->reciprocal >> 16 >> row->shift, TW_A_HALVES, 1, TW_UPPER)
TW_DEFINE_SHARES(share_out_high, (uint64_t)e *row->reciprocal >> 32 >> row->shift, TW_A_MULHU, 0, )

static inline int32_t bits_of(uint32_t x) { return tw_x_fl1(x) + 1; }

/* top * 2^(24 + more) / total, rounded up; total has `bits` bits. As many of them as fit a word at a time. */
static inline uint32_t reciprocal_of(uint32_t top, uint32_t total, int32_t bits, int32_t more) {
  uint32_t reciprocal = (top << 24) / total, rest = (top << 24) - reciprocal * total;
  while (more > 0) {
    const int32_t step = tw_x_min(more, 32 - bits);
    const uint32_t next = (rest << step) / total;
    rest = (rest << step) - next * total;
    reciprocal = (reciprocal << step) + next;
    more -= step;
  }
  return reciprocal + 1;
}

/* How shares are computed. The reciprocal is at most one too large, so that a product is too large by at most e, and by
 * the offset: that is no quotient's worth where (e + TW_OFFSETS) * total < 2^shift. The product must fit 32 bits: it does
 * with a shift of 24, as total is at least the largest e, and with one by the bits of both factors as long as e has at most
 * TW_SHORT_BITS. Else it is a product of 64 bits without an offset, and a shift by 23 and the bits of total is enough: e
 * has at most 20. A way that does for a total does for smaller ones. */
enum { TW_SHARES_LOW, TW_SHARES_HALVES, TW_SHARES_HIGH };

static inline int32_t low_shift(uint32_t largest, int32_t bits) {
  return tw_x_max(24, bits + bits_of(largest + TW_OFFSETS - 1));
}

static inline int share_way(uint32_t largest, uint32_t total) {
  const int32_t bits = bits_of(total);
  if (largest < 1u << TW_SHORT_BITS && low_shift(largest, bits) < 32) return TW_SHARES_LOW;
  return largest >> TW_HALF_BITS || bits > 24 ? TW_SHARES_HIGH : TW_SHARES_HALVES;
}

/* By what exponentials are multiplied and shifted. */
typedef struct {
  uint32_t reciprocal, shift;
} share_factor;

static inline share_factor factor_of(int way, uint32_t top, uint32_t largest, uint32_t total) {
  const int32_t bits = bits_of(total);
  if (way == TW_SHARES_LOW) {
    const int32_t shift = low_shift(largest, bits);
    return (share_factor){reciprocal_of(top, total, bits, shift - 24), (uint32_t)shift};
  }
  return (share_factor){reciprocal_of(top, total, bits, bits - 1), (uint32_t)(bits - 9 + (way == TW_SHARES_HALVES ? 16 : 0))};
}

static inline __attribute__((always_inline)) void set_factor(row_values *row, int way, uint32_t largest) {
  const share_factor factor = factor_of(way, row->top, largest, row->total);
  row->reciprocal = factor.reciprocal, row->shift = factor.shift;
}

static inline __attribute__((always_inline)) void share_out(row_values *row, const TW_X *x, TW_Y *y, int32_t length, uint32_t largest) {
  const int way = share_way(largest, row->total);
  if (way == TW_SHARES_LOW) {
    set_factor(row, TW_SHARES_LOW, largest);
    share_out_low(row, x, y, length);
  } else if (way == TW_SHARES_HALVES) {
    set_factor(row, TW_SHARES_HALVES, largest);
    share_out_halves(row, x, y, length);
  } else {
    set_factor(row, TW_SHARES_HIGH, largest);
    share_out_high(row, x, y, length);
  }
}

/* Of a row whose largest value is known. */
static inline row_values tw_row_of(const tw_share_tables *tables, int32_t largest) {
  return (row_values){tables->exponentials + 255 - largest, tables->results, (uint32_t)tables->top, 0, 0, 0};
}

/* y may take the place of x. */
static inline void tw_share_out(const tw_share_tables *tables, int32_t largest, const TW_X *x, TW_Y *y, int32_t length) {
  row_values row = tw_row_of(tables, largest);
  row.total = total_of(row.table, x, length);
  share_out(&row, x, y, length, tables->exponentials[255]);
}

/* The largest of four bytes. */
static inline int32_t tw_largest_lane(uint32_t four) {
  const int32_t low = tw_x_max(TW_X_BYTE(four, 0), TW_X_BYTE(four, 1));
  return tw_x_max(low, tw_x_max(TW_X_BYTE(four, 2), TW_X_BYTE(four, 3)));
}

/* The largest bytes in each lane of at least four, the last ones perhaps looked at twice. */
static inline int32_t largest_lanes(const TW_X *x, int32_t length) {
  int32_t four = (int32_t)tw_x_load(x + length - 4);
  int32_t words = length >> 2;
#if TW_XPULP
  int32_t pairs = words >> 1, first, second;
  if (pairs > 0) {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 4) TW_A_LW("%[first]", "%[x]", "4") TW_A_LW("%[second]", "%[x]", "4")
                     ".insn r " TW_E_DOT_OPCODE ", 1, %[max], %[four], %[four], %[first]\n"
                     ".insn r " TW_E_DOT_OPCODE ", 1, %[max], %[four], %[four], %[second]\n" TW_A_END
                     : [x] "+r"(x), [four] "+r"(four), [first] "=&r"(first), [second] "=&r"(second)
                     : [pairs] "r"(pairs), [max] "i"(TW_X_SIGNED ? 0x18 : 0x1c)
                     : "memory");
  }
  words &= 1;
#endif
  for (; words > 0; words--, x += 4) {
    const int32_t word = (int32_t)tw_x_load(x);
    four = TW_X_SIGNED ? tw_x_max4(four, word) : tw_x_maxu4(four, word);
  }
  return four;
}

static inline int32_t tw_largest_of(const TW_X *x, int32_t length) {
  int32_t largest = x[0];
  if (length >= 4) return tw_largest_lane((uint32_t)largest_lanes(x, length));
  for (; length > 1; length--) largest = tw_x_max(largest, *++x);
  return largest;
}

#endif
