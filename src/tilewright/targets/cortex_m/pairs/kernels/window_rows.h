/* Windows of 3 x 3 over a band of bytes, two results of two rows at a time, one channel after the other. Needs TW_X and
 * TW_Y.
 *
 * The bytes 0, 2 and 1, 3 of a word of a row, extended, are what the outer weights of a row are multiplied by for the
 * first and the second result; the middle weight meets byte 1, and byte 2. Weights and totals are larger by a power of
 * two, so that a result is one product with a sum, shifted: by what each filter has, or by the same for all. Where
 * TensorFlow Lite rounds twice, ties away from zero, totals are doubled. */
#ifndef TW_WINDOW_ROWS_H
#define TW_WINDOW_ROWS_H

#include <stdint.h>

#include "ways.h"

/* Of a filter, words: 00 02, 10 12, 20 22, 01 11, the shift and 21; what totals begin with, factor, addend. */
enum { TW_WINDOW_WORDS = 8 };
enum { TW_SAME_SHIFT = 10 };

/* A channel's results. The assembly knows the order of the fields. */
typedef struct {
  const TW_X *x;
  int32_t pitch;
  TW_Y *y;
  int32_t width, rows; /* of results: two at least */
  const int32_t *filter;
} tw_windows;

#ifdef __ARM_FEATURE_DSP

#define TW_EXTEND_int8_t "sxtb16 "
#define TW_EXTEND_uint8_t "uxtb16 "
#define TW_EXTEND TW_JOINED(TW_EXTEND_, TW_X)

/* A total becomes a result: factor r11, addend lr, shift in the lower half of r6; r12 is free. */
#define TW_SCALE(a) "smmla " a ", " a ", r11, lr\n\t"
#define TW_ROUND_TWICE(a) "smmlar r12, " a ", r11, lr\n\tadd.w " a ", r12, " a ", asr #31\n\t"
#define TW_MOVE(a) "asr.w " a ", " a ", r6\n\t"
#define TW_KEEP(a) TW_LIMIT " " a ", #8, " a "\n\t"
#define TW_MOVE_AND_KEEP(a) TW_LIMIT " " a ", #8, " a ", asr #10\n\t"
/* One step after the other of all four, as no instruction should wait for the one before. */
#define TW_ALL(STEP) STEP("r7") STEP("r8") STEP("r9") STEP("r10")
#define TW_END_SAME TW_ALL(TW_SCALE) TW_ALL(TW_MOVE_AND_KEEP)
#define TW_END_OWN TW_ALL(TW_SCALE) TW_ALL(TW_MOVE) TW_ALL(TW_KEEP)
#define TW_END_TWICE TW_ALL(TW_ROUND_TWICE) TW_ALL(TW_MOVE) TW_ALL(TW_KEEP)

/* sp: start 0, factor 4, addend 8, end of a row 12, y of the row 16, of the row behind 20, x of the row 24, width 28,
 * rows 32, y of the row 36. r1: pitch; r2 to r6: weights. */
#define TW_WINDOWS_BEGIN                                                                                             \
  "push {r4-r11, lr}\n\tsub sp, #44\n\tldm.w r0, {r0, r1, r8, r9, r10, r12}\n\tldm.w r12, {r2-r7, r11, r12}\n\t"     \
  "str r7, [sp]\n\tstr.w r11, [sp, #4]\n\tstr.w r12, [sp, #8]\n\tstr.w r9, [sp, #28]\n\tstr.w r10, [sp, #32]\n\t"
#define TW_WINDOWS_END "add sp, #44\n\tpop {r4-r11, pc}\n\t"

/* The odd bytes into lr, the even ones in place. */
#define TW_BYTES(word) TW_EXTEND "lr, " word ", ror #8\n\t" TW_EXTEND word ", " word "\n\t"
/* A row of weights, the outer ones in `outer`, the middle one in half `half` of `inner`, on bytes of a row. */
#define TW_ROW(first, second, word, outer, inner, half)                                                         \
  "smlad " first ", " word ", " outer ", " first "\n\tsmlab" half " " first ", lr, " inner ", " first "\n\t"     \
  "smlad " second ", lr, " outer ", " second "\n\tsmlat" half " " second ", " word ", " inner ", " second "\n\t"

/* Windows one element apart: x and y go on together. */
#define TW_DEFINE_WINDOWS_BY_1(name, way, END)                                                                   \
  static __attribute__((naked, noinline)) void name(const tw_windows *all __attribute__((unused))) {             \
    __asm__ volatile(                                                                                            \
        TW_WINDOWS_BEGIN                                                                                         \
        "2:\n\t"                                                                                                 \
        "sub.w r11, r8, r0\n\tadd.w r12, r11, r9\n\tadd.w lr, r9, r0\n\tsub.w lr, lr, #1\n\t"                    \
        "str.w r11, [sp, #16]\n\tstr.w r12, [sp, #20]\n\tstr.w lr, [sp, #12]\n\tstr r0, [sp, #24]\n\t"           \
        "str.w r8, [sp, #36]\n\t"                                                                                \
        "1:\n\t"                                                                                                 \
        "ldr r7, [sp]\n\tldr.w r12, [r0, r1]\n\tldr.w r11, [r0]\n\t" TW_BYTES("r12")                             \
        "smlad r9, r12, r2, r7\n\tsmlabb r9, lr, r5, r9\n\tsmlad r10, lr, r2, r7\n\tsmlatb r10, r12, r5, r10\n\t" \
        "smlad r8, lr, r3, r7\n\tsmlatt r8, r12, r5, r8\n\tsmlad r7, r12, r3, r7\n\tsmlabt r7, lr, r5, r7\n\t"   \
        TW_BYTES("r11") TW_ROW("r7", "r8", "r11", "r2", "r5", "b")                                               \
        "add.w lr, r0, r1\n\tldr.w r11, [r0, r1, lsl #1]\n\tldr.w r12, [lr, r1, lsl #1]\n\t"                     \
        TW_BYTES("r11") TW_ROW("r7", "r8", "r11", "r4", "r6", "t") TW_ROW("r9", "r10", "r11", "r3", "r5", "t")   \
        TW_BYTES("r12") TW_ROW("r9", "r10", "r12", "r4", "r6", "t")                                              \
        "ldr.w r11, [sp, #4]\n\tldr.w lr, [sp, #8]\n\t"                                                          \
        END                                                                                                      \
        "bfi r7, r8, #8, #8\n\tbfi r9, r10, #8, #8\n\t"                                                          \
        "ldr.w r11, [sp, #20]\n\tldr.w r12, [sp, #16]\n\tldr.w lr, [sp, #12]\n\t"                                \
        "strh.w r9, [r0, r11]\n\tstrh.w r7, [r0, r12]\n\t"                                                       \
        /* Of an odd number of columns, the last two again. */                                                   \
        "adds r0, #2\n\tcmp r0, lr\n\tblo.w 1b\n\tit eq\n\tsubeq r0, #1\n\tbeq.w 1b\n\t"                         \
        "ldr r0, [sp, #24]\n\tldr.w r9, [sp, #28]\n\tldr r7, [sp, #32]\n\tldr.w r8, [sp, #36]\n\t"               \
        "cmp r7, #3\n\tbeq 4f\n\tadd.w r0, r0, r1, lsl #1\n\tadd.w r8, r8, r9, lsl #1\n\t"                       \
        "3:\n\t"                                                                                                 \
        "subs r7, #2\n\tstr r7, [sp, #32]\n\tbgt.w 2b\n\t" TW_WINDOWS_END                                        \
        /* Of an odd number of rows too: one row further on. */                                                  \
        "4:\n\tadd r0, r1\n\tadd r8, r9\n\tmovs r7, #4\n\tb 3b\n\t");                                            \
  }

/* Bytes of a row for two windows two elements apart, from two words: even ones of each, lr the odd ones. */
#define TW_BYTES_BY_2 TW_EXTEND "lr, r11, ror #8\n\t" TW_EXTEND "r11, r11\n\t" TW_EXTEND "r12, r12\n\t"
#define TW_ROW_BY_2(first, second, outer, inner, half)                                                          \
  "smlab" half " " first ", lr, " inner ", " first "\n\tsmlat" half " " second ", lr, " inner ", " second "\n\t" \
  "smlad " first ", r11, " outer ", " first "\n\tsmlad " second ", r12, " outer ", " second "\n\t"

/* Windows two elements apart, in rows and in columns. */
#define TW_DEFINE_WINDOWS_BY_2(name, way, END)                                                                   \
  static __attribute__((naked, noinline)) void name(const tw_windows *all __attribute__((unused))) {             \
    __asm__ volatile(                                                                                            \
        TW_WINDOWS_BEGIN                                                                                         \
        "2:\n\t"                                                                                                 \
        "sub.w lr, r9, #2\n\tadd.w lr, r0, lr, lsl #1\n\tstr.w lr, [sp, #12]\n\tstr.w r8, [sp, #16]\n\t"         \
        "str r0, [sp, #24]\n\tstr.w r8, [sp, #36]\n\t"                                                           \
        "1:\n\t"                                                                                                 \
        "ldr r7, [sp]\n\tldr.w r11, [r0]\n\tldr.w r12, [r0, #2]\n\t" TW_BYTES_BY_2                               \
        "smlatb r8, lr, r5, r7\n\tsmlabb r7, lr, r5, r7\n\tsmlad r8, r12, r2, r8\n\tsmlad r7, r11, r2, r7\n\t"   \
        "add.w lr, r0, r1\n\tldr.w r11, [r0, r1]\n\tldr.w r12, [lr, #2]\n\t" TW_BYTES_BY_2                       \
        TW_ROW_BY_2("r7", "r8", "r3", "r5", "t")                                                                 \
        "add.w lr, r0, r1, lsl #1\n\tldr.w r10, [sp]\n\tldr.w r11, [r0, r1, lsl #1]\n\tldr.w r12, [lr, #2]\n\t"  \
        TW_BYTES_BY_2 TW_ROW_BY_2("r7", "r8", "r4", "r6", "t")                                                   \
        "smlabb r9, lr, r5, r10\n\tsmlatb r10, lr, r5, r10\n\tadd.w lr, r0, r1\n\tsmlad r9, r11, r2, r9\n\t"     \
        "add.w lr, lr, r1, lsl #1\n\tsmlad r10, r12, r2, r10\n\t"                                                \
        "ldr.w r11, [lr]\n\tldr.w r12, [lr, #2]\n\t" TW_BYTES_BY_2 TW_ROW_BY_2("r9", "r10", "r3", "r5", "t")     \
        "add.w lr, r0, r1, lsl #2\n\tldr.w r11, [r0, r1, lsl #2]\n\tldr.w r12, [lr, #2]\n\t"                     \
        TW_BYTES_BY_2 TW_ROW_BY_2("r9", "r10", "r4", "r6", "t")                                                  \
        "ldr.w r11, [sp, #4]\n\tldr.w lr, [sp, #8]\n\t"                                                          \
        END                                                                                                      \
        "bfi r7, r8, #8, #8\n\tbfi r9, r10, #8, #8\n\t"                                                          \
        "ldr.w r11, [sp, #16]\n\tldr.w r12, [sp, #28]\n\tldr.w lr, [sp, #12]\n\t"                                \
        "strh.w r9, [r11, r12]\n\tstrh r7, [r11], #2\n\tstr.w r11, [sp, #16]\n\t"                                \
        "adds r0, #4\n\tcmp r0, lr\n\tbls.w 1b\n\t"                                                              \
        /* Of an odd number of columns, the last two again. */                                                   \
        "sub.w r12, r0, lr\n\tcmp.w r12, #2\n\tbne 5f\n\t"                                                       \
        "mov r0, lr\n\tsub.w r11, r11, #1\n\tstr.w r11, [sp, #16]\n\tb.w 1b\n\t"                                 \
        "5:\n\t"                                                                                                 \
        "ldr r0, [sp, #24]\n\tldr.w r9, [sp, #28]\n\tldr r7, [sp, #32]\n\tldr.w r8, [sp, #36]\n\t"               \
        "cmp r7, #3\n\tbeq 4f\n\tadd.w r0, r0, r1, lsl #2\n\tadd.w r8, r8, r9, lsl #1\n\t"                       \
        "3:\n\t"                                                                                                 \
        "subs r7, #2\n\tstr r7, [sp, #32]\n\tbgt.w 2b\n\t" TW_WINDOWS_END                                        \
        "4:\n\tadd.w r0, r0, r1, lsl #1\n\tadd r8, r9\n\tmovs r7, #4\n\tb 3b\n\t");                              \
  }

#else

static inline int32_t tw_window_total(const tw_windows *all, const TW_X *x) {
  static const uint8_t at[9] = {0, 6, 1, 2, 7, 3, 4, 9, 5};
  const int16_t *const w = (const int16_t *)(const void *)all->filter;
  int32_t sum = all->filter[5];
  for (int32_t i = 0; i < 9; i++) sum += w[at[i]] * x[i / 3 * all->pitch + i % 3];
  return sum;
}

static inline TW_Y tw_window_result(const tw_windows *all, int32_t total, int32_t way) {
  const int32_t least = (TW_Y)-1 < 0 ? -128 : 0, own = ((const int16_t *)(const void *)all->filter)[8];
  const int64_t product = (int64_t)total * all->filter[6];
  const int32_t high = way == TW_WINDOWS_TWICE ? (int32_t)((product + 0x80000000LL) >> 32) - (total < 0)
                                               : (int32_t)(product >> 32);
  const int32_t value = (high + all->filter[7]) >> (way == TW_WINDOWS_SAME ? (int32_t)TW_SAME_SHIFT : own);
  return (TW_Y)(value < least ? least : value > least + 255 ? least + 255 : value);
}

static void tw_windows_in_c(const tw_windows *all, int32_t way, int32_t apart) {
  TW_Y *y = all->y;
  for (int32_t row = 0; row < all->rows; row++) {
    const TW_X *x = all->x + row * apart * all->pitch;
    for (int32_t i = 0; i < all->width; i++, x += apart) *y++ = tw_window_result(all, tw_window_total(all, x), way);
  }
}

#define TW_DEFINE_WINDOWS_BY_1(name, way, END) \
  static void name(const tw_windows *all) { tw_windows_in_c(all, way, 1); }
#define TW_DEFINE_WINDOWS_BY_2(name, way, END) \
  static void name(const tw_windows *all) { tw_windows_in_c(all, way, 2); }

#endif

TW_DEFINE_WINDOWS_BY_1(tw_windows_same, TW_WINDOWS_SAME, TW_END_SAME)
TW_DEFINE_WINDOWS_BY_1(tw_windows_own, TW_WINDOWS_OWN, TW_END_OWN)
TW_DEFINE_WINDOWS_BY_2(tw_windows_same_by_2, TW_WINDOWS_SAME, TW_END_SAME)
TW_DEFINE_WINDOWS_BY_2(tw_windows_own_by_2, TW_WINDOWS_OWN, TW_END_OWN)
#if !defined(TW_HAS_EXPONENTS) || TW_HAS_EXPONENTS
TW_DEFINE_WINDOWS_BY_1(tw_windows_twice, TW_WINDOWS_TWICE, TW_END_TWICE)
TW_DEFINE_WINDOWS_BY_2(tw_windows_twice_by_2, TW_WINDOWS_TWICE, TW_END_TWICE)
#endif

typedef void (*tw_windows_function)(const tw_windows *all);

/* Of a way, and elements between windows. */
static inline tw_windows_function tw_windows_by(int32_t way, int32_t apart) {
#if !defined(TW_HAS_EXPONENTS) || TW_HAS_EXPONENTS
  if (way == TW_WINDOWS_TWICE) return apart == 1 ? tw_windows_twice : tw_windows_twice_by_2;
#endif
  if (apart == 1) return way == TW_WINDOWS_SAME ? tw_windows_same : tw_windows_own;
  return way == TW_WINDOWS_SAME ? tw_windows_same_by_2 : tw_windows_own_by_2;
}

#endif
