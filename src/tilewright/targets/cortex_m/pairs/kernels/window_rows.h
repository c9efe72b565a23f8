/* Windows of 3 x 3 over a band of bytes, two results side by side at a time, one after the other channel. Needs TW_X
 * and TW_Y.
 *
 * The bytes 0, 2 and 1, 3 of a word of a row, extended, are what the outer weights of a row are multiplied by for the
 * first and the second result; the middle weight meets byte 1, and byte 2. */
#ifndef TW_WINDOW_ROWS_H
#define TW_WINDOW_ROWS_H

#include <stdint.h>

#include "ways.h"

enum { TW_WINDOW_BYTES = 12 }; /* of a filter's weights: 00 10 02 12, 20 01 22 11, 21 and three more */

/* A channel's results. The assembly knows the order of the fields. */
typedef struct {
  const TW_X *x;
  int32_t pitch;
  const int8_t *w;
  int32_t start, mul, shift, addend;
  TW_Y *y;
  int32_t width, rows; /* of results: two at least */
  int32_t row_step;    /* from the first row of a window to that of the next; where rows are not one apart */
} tw_windows;

#ifdef __ARM_FEATURE_DSP

#define TW_EXTEND_int8_t "sxtb16 "
#define TW_EXTEND_uint8_t "uxtb16 "
#define TW_EXTEND TW_JOINED(TW_EXTEND_, TW_X)

/* The odd bytes into lr, the even ones in place. */
#define TW_BYTES(word) TW_EXTEND "lr, " word ", ror #8\n\t" TW_EXTEND word ", " word "\n\t"
/* A row of weights, the outer ones in `outer`, the middle one in half `half` of `inner`, on bytes of a row. */
#define TW_ROW(first, second, word, outer, inner, half)                                                         \
  "smlad " first ", " word ", " outer ", " first "\n\tsmlab" half " " first ", lr, " inner ", " first "\n\t"     \
  "smlad " second ", lr, " outer ", " second "\n\tsmlat" half " " second ", " word ", " inner ", " second "\n\t"

/* A total becomes a result: factor r11, shift r12, addend lr. The middle weight of the last row is in r6 again then. */
#define TW_END(a) "asr.w " a ", " a ", r12\n\t" TW_LIMIT " " a ", #8, " a "\n\t"
#define TW_END_UP(a) "smmlar " a ", " a ", r11, lr\n\t" TW_END(a)
#define TW_END_TWICE(a) "smmlar r6, " a ", r11, lr\n\tadd.w " a ", r6, " a ", asr #31\n\t" TW_END(a)
#define TW_END_HIGH(a) "smmla " a ", " a ", r11, lr\n\t" TW_END(a)
#define TW_END_LOW(a) "mla " a ", " a ", r11, lr\n\t" TW_END(a)

#define TW_NOTHING
#define TW_AGAIN "ldr r6, [sp, #4]\n\t"
/* Weights, and so totals, twice as large: two roundings begin with that. */
#define TW_DOUBLE                                                                                              \
  "lsls r6, r6, #1\n\tstr r6, [sp, #4]\n\tsadd16 r2, r2, r2\n\tsadd16 r3, r3, r3\n\tsadd16 r4, r4, r4\n\t"   \
  "sadd16 r5, r5, r5\n\t"

/* sp: pitch 0, w21 4, start 8, mul 12, shift 16, addend 20, width 24, row_step 28, end 32, rows 36, x of the row 40,
 * y of the row 44, of the row behind 48. r2 to r5: outer weights of three rows, middle ones of two. */
#define TW_WINDOWS_BEGIN                                                                                             \
  "push {r4-r11, lr}\n\tsub sp, #52\n\tmov r12, r0\n\t"                                                              \
  "ldm.w r12, {r0, r1, r2, r4, r5, r6, r7, r8, r9, r10, r11}\n\t"                                                    \
  "str r1, [sp]\n\tstr r4, [sp, #8]\n\tstr r5, [sp, #12]\n\tstr r6, [sp, #16]\n\tstr r7, [sp, #20]\n\t"              \
  "str.w r9, [sp, #24]\n\tstr.w r11, [sp, #28]\n\tstr.w r10, [sp, #36]\n\tstr r0, [sp, #40]\n\tstr.w r8, [sp, #44]\n\t" \
  "ldrsb.w r6, [r2, #8]\n\tldr r4, [r2, #4]\n\tldr r2, [r2]\n\tstr r6, [sp, #4]\n\t"                                 \
  "sxtb16 r3, r2, ror #8\n\tsxtb16 r2, r2\n\tsxtb16 r5, r4, ror #8\n\tsxtb16 r4, r4\n\t"

#define TW_WINDOWS_END "add sp, #52\n\tpop {r4-r11, pc}\n\t"

/* Windows one element apart, of two rows at a time. */
#define TW_DEFINE_WINDOWS_BY_1(name, way, BEGIN, END, AGAIN)                                                                        \
  static __attribute__((naked, noinline)) void name(const tw_windows *all __attribute__((unused))) {             \
    __asm__ volatile(                                                                                            \
        TW_WINDOWS_BEGIN BEGIN                                                                                   \
        "sub.w r8, r8, r0\n\t" /* from x to y */                                                                 \
        "2:\n\t"                                                                                                 \
        "add.w r10, r8, r9\n\tadd.w r9, r9, r0\n\tsub.w r9, r9, #1\n\tstr.w r8, [sp, #44]\n\t"                   \
        "str.w r10, [sp, #48]\n\tstr.w r9, [sp, #32]\n\t"                                                       \
        "1:\n\t"                                                                                                 \
        AGAIN "ldr r7, [sp, #8]\n\tldr.w r11, [r0]\n\tldr.w r12, [r0, r1]\n\t"                                 \
        "mov r8, r7\n\tmov r9, r7\n\tmov r10, r7\n\t"                                                            \
        TW_BYTES("r11") TW_ROW("r7", "r8", "r11", "r2", "r5", "b")                                               \
        TW_BYTES("r12") TW_ROW("r7", "r8", "r12", "r3", "r5", "t") TW_ROW("r9", "r10", "r12", "r2", "r5", "b")   \
        "add.w lr, r0, r1\n\tldr.w r11, [r0, r1, lsl #1]\n\tldr.w r12, [lr, r1, lsl #1]\n\t"                     \
        TW_BYTES("r11") TW_ROW("r7", "r8", "r11", "r4", "r6", "b") TW_ROW("r9", "r10", "r11", "r3", "r5", "t")   \
        TW_BYTES("r12") TW_ROW("r9", "r10", "r12", "r4", "r6", "b")                                              \
        "ldr.w r11, [sp, #12]\n\tldr.w r12, [sp, #16]\n\tldr.w lr, [sp, #20]\n\t"                               \
        END("r7") END("r8") END("r9") END("r10")                                                                 \
        "bfi r7, r8, #8, #8\n\tbfi r9, r10, #8, #8\n\t"                                                          \
        "ldr.w r11, [sp, #44]\n\tldr.w r12, [sp, #48]\n\tldr.w lr, [sp, #32]\n\t"                               \
        "strh.w r7, [r0, r11]\n\tstrh.w r9, [r0, r12]\n\t"                                                     \
        /* Of an odd number of columns, the last two again. */                                                   \
        "adds r0, #2\n\tcmp r0, lr\n\tblo.w 1b\n\tit eq\n\tsubeq r0, #1\n\tbeq.w 1b\n\t"                         \
        "ldr r0, [sp, #40]\n\tldr.w r9, [sp, #24]\n\tldr r7, [sp, #36]\n\tldr.w r8, [sp, #44]\n\t"               \
        "sub.w r11, r9, r1\n\tcmp r7, #3\n\tbeq 4f\n\tadd.w r0, r0, r1, lsl #1\n\tadd.w r8, r8, r11, lsl #1\n\t" \
        "3:\n\t"                                                                                                 \
        "subs r7, #2\n\tstr r0, [sp, #40]\n\tstr r7, [sp, #36]\n\tbgt.w 2b\n\t" TW_WINDOWS_END                \
        /* Of an odd number of rows too: one row further on. */                                                  \
        "4:\n\tadd r0, r1\n\tadd r8, r11\n\tmovs r7, #4\n\tb 3b\n\t");                                         \
  }

/* Bytes of a row for two windows two elements apart, at `at` and behind: even ones of each, lr the odd ones. */
#define TW_BYTES_BY_2(at)                                                                             \
  "ldr.w r11, [" at "]\n\tldr.w r12, [" at ", #2]\n\t" TW_EXTEND "lr, r11, ror #8\n\t" TW_EXTEND      \
  "r11, r11\n\t" TW_EXTEND "r12, r12\n\t"
#define TW_ROW_BY_2(outer, inner, half)                                                               \
  "smlad r7, r11, " outer ", r7\n\tsmlab" half " r7, lr, " inner ", r7\n\t"                           \
  "smlad r8, r12, " outer ", r8\n\tsmlat" half " r8, lr, " inner ", r8\n\t"

#define TW_DEFINE_WINDOWS_BY_2(name, way, BEGIN, END, AGAIN)                                                                        \
  static __attribute__((naked, noinline)) void name(const tw_windows *all __attribute__((unused))) {             \
    __asm__ volatile(                                                                                            \
        TW_WINDOWS_BEGIN BEGIN                                                                                   \
        "2:\n\t"                                                                                                 \
        "sub.w r9, r9, #2\n\tadd.w r9, r0, r9, lsl #1\n\tstr.w r9, [sp, #32]\n\t"                                \
        "1:\n\t"                                                                                                 \
        AGAIN "ldr r7, [sp, #8]\n\t"                                                                             \
        "add.w r9, r0, r1\n\tadd.w r10, r9, r1\n\tmov r8, r7\n\t"                                                \
        TW_BYTES_BY_2("r0") TW_ROW_BY_2("r2", "r5", "b")                                                         \
        TW_BYTES_BY_2("r9") TW_ROW_BY_2("r3", "r5", "t")                                                         \
        TW_BYTES_BY_2("r10") TW_ROW_BY_2("r4", "r6", "b")                                                        \
        "ldr.w r9, [sp, #40]\n\tldr.w r11, [sp, #12]\n\tldr.w r12, [sp, #16]\n\tldr.w lr, [sp, #20]\n\t"         \
        END("r7") END("r8")                                                                                      \
        "ldr.w r11, [sp, #44]\n\tldr.w r10, [sp, #32]\n\t"                                                        \
        "sub.w r9, r0, r9\n\tadd.w r11, r11, r9, lsr #1\n\tbfi r7, r8, #8, #8\n\tstrh.w r7, [r11]\n\t"            \
        "adds r0, #4\n\tcmp r0, r10\n\tbls.w 1b\n\t"                                                             \
        "sub.w r12, r0, r10\n\tcmp.w r12, #2\n\titt eq\n\tmoveq r0, r10\n\tbeq.w 1b\n\t"                         \
        "ldr r0, [sp, #40]\n\tldr.w r11, [sp, #44]\n\tldr.w r9, [sp, #24]\n\tldr.w r10, [sp, #36]\n\tldr r7, [sp, #28]\n\t" \
        "add r0, r7\n\tadd r11, r9\n\tsubs.w r10, r10, #1\n\tstr r0, [sp, #40]\n\tstr.w r11, [sp, #44]\n\t"        \
        "str.w r10, [sp, #36]\n\t"                                                                               \
        "bne.w 2b\n\t" TW_WINDOWS_END);                                                                          \
  }

#else

/* Whether a way begins with totals twice as large. */
static inline int tw_is_doubled(int32_t way) { return way == TW_BY_UP || way == TW_BY_TWICE; }

static inline int32_t tw_window_total(const tw_windows *all, const TW_X *x, int32_t way) {
  static const uint8_t at[9] = {0, 5, 2, 1, 7, 3, 4, 8, 6};
  int32_t sum = 0;
  for (int32_t i = 0; i < 9; i++) sum += all->w[at[i]] * x[i / 3 * all->pitch + i % 3];
  return all->start + (tw_is_doubled(way) ? 2 * sum : sum);
}

static inline TW_Y tw_window_result(const tw_windows *all, int32_t total, int32_t way) {
  const int32_t least = (TW_Y)-1 < 0 ? -128 : 0;
  const int64_t product = (int64_t)total * all->mul;
  int64_t value = way == TW_BY_LOW ? product : (product + (tw_is_doubled(way) ? 0x80000000LL : 0)) >> 32;
  if (way == TW_BY_TWICE) value -= total < 0;
  value = (value + all->addend) >> all->shift;
  return (TW_Y)(value < least ? least : value > least + 255 ? least + 255 : value);
}

static void tw_windows_in_c(const tw_windows *all, int32_t way, int32_t apart) {
  TW_Y *y = all->y;
  for (int32_t row = 0; row < all->rows; row++) {
    const TW_X *x = all->x + row * all->row_step;
    for (int32_t i = 0; i < all->width; i++, x += apart) *y++ = tw_window_result(all, tw_window_total(all, x, way), way);
  }
}

#define TW_DEFINE_WINDOWS_BY_1(name, way, BEGIN, END, AGAIN) \
  static void name(const tw_windows *all) { tw_windows_in_c(all, way, 1); }
#define TW_DEFINE_WINDOWS_BY_2(name, way, BEGIN, END, AGAIN) \
  static void name(const tw_windows *all) { tw_windows_in_c(all, way, 2); }

#endif

TW_DEFINE_WINDOWS_BY_1(tw_windows_high, TW_BY_HIGH, TW_NOTHING, TW_END_HIGH, TW_NOTHING)
TW_DEFINE_WINDOWS_BY_2(tw_windows_high_by_2, TW_BY_HIGH, TW_NOTHING, TW_END_HIGH, TW_NOTHING)
#if !defined(TW_HAS_EXPONENTS) || TW_HAS_EXPONENTS
TW_DEFINE_WINDOWS_BY_1(tw_windows_up, TW_BY_UP, TW_DOUBLE, TW_END_UP, TW_NOTHING)
TW_DEFINE_WINDOWS_BY_2(tw_windows_up_by_2, TW_BY_UP, TW_DOUBLE, TW_END_UP, TW_NOTHING)
TW_DEFINE_WINDOWS_BY_1(tw_windows_twice, TW_BY_TWICE, TW_DOUBLE, TW_END_TWICE, TW_AGAIN)
TW_DEFINE_WINDOWS_BY_2(tw_windows_twice_by_2, TW_BY_TWICE, TW_DOUBLE, TW_END_TWICE, TW_AGAIN)
#endif
#if !defined(TW_HAS_EXPONENTS) || !TW_HAS_EXPONENTS
TW_DEFINE_WINDOWS_BY_1(tw_windows_low, TW_BY_LOW, TW_NOTHING, TW_END_LOW, TW_NOTHING)
TW_DEFINE_WINDOWS_BY_2(tw_windows_low_by_2, TW_BY_LOW, TW_NOTHING, TW_END_LOW, TW_NOTHING)
#endif

typedef void (*tw_windows_function)(const tw_windows *all);

/* Of a way, and elements between windows. */
static inline tw_windows_function tw_windows_by(int32_t way, int32_t apart) {
#if !defined(TW_HAS_EXPONENTS) || TW_HAS_EXPONENTS
  if (way == TW_BY_UP) return apart == 1 ? tw_windows_up : tw_windows_up_by_2;
  if (way == TW_BY_TWICE) return apart == 1 ? tw_windows_twice : tw_windows_twice_by_2;
#endif
#if !defined(TW_HAS_EXPONENTS) || !TW_HAS_EXPONENTS
  if (way == TW_BY_LOW) return apart == 1 ? tw_windows_low : tw_windows_low_by_2;
#endif
  return apart == 1 ? tw_windows_high : tw_windows_high_by_2;
}

#endif
