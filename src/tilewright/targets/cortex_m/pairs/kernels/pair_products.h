/* Filters in pairs on pixels from a panel: products, and results by the short ways. Needs TW_Y.
 *
 * A panel has a word for each pixel at every two taps: elements of 16 bits. A word of weights has two filters at two
 * taps; the even bytes are the first filter's. The word as it is has halves that are the first plus 256 times the
 * second, and so has its total, from which that of the first is subtracted at the end. With TW_APART the odd bytes are
 * extended too.
 *
 * All that is constant of a pair lies in the order in which it is read: what the totals of the first and of both begin
 * with, the weights, and factor, shift and addend of each. */
#ifndef TW_PAIR_PRODUCTS_H
#define TW_PAIR_PRODUCTS_H

/* A piece of assembly is one string, longer than what C99 asks compilers for. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

#include "always.h"
#include "requant.h"
#include "tw.h"
#include "ways.h"

enum { TW_PAIR_STARTS = 8, TW_PAIR_SCALES = 24 }; /* bytes before and behind the weights of a pair */

static inline int32_t tw_pair_bytes(int32_t steps) { return TW_PAIR_STARTS + 4 * steps + TW_PAIR_SCALES; }

/* Pairs of filters on the pixels of one panel. The assembly knows the order of the fields. */
typedef struct {
  const uint32_t *panel, *panel_end;
  int32_t entry, skipped; /* where the first round begins in the code, and bytes of weights that it has not */
  TW_Y *y;
  int32_t plane; /* bytes from a filter's results to the next one's */
  int32_t way;
  const int8_t *w, *w_end;
} tw_pairs;

TW_ALWAYS TW_Y *tw_moved(TW_Y *y, int32_t bytes) { return (TW_Y *)(void *)((char *)y + bytes); }

#ifdef __ARM_FEATURE_DSP

/* What the second filter is multiplied by, and what has to be done with its totals then: they are 256 times as large,
 * which the constants of the ways `up` and `high` allow for. */
#ifdef TW_APART
#define TW_SECOND(w) "sxtb16 " w ", " w ", ror #8\n\t"
#define TW_SUBTRACT(a, b)
#define TW_UP_2(a, free) TW_UP_1(a, free)
#define TW_TO_TOTAL(a)
#define TW_TO_DOUBLE(a) "lsl.w " a ", " a ", #1\n\t"
#define TW_HIGH_2(a, free) TW_HIGH_1(a, free)
#define TW_LEFT_2(a, free) TW_LEFT_1(a, free)
/* Totals of one pair are left as they are: only filters that are apart go that way. */
#define TW_STORE_TOTALS_4 "ldr r0, [sp, #16]\n\tstm.w r0, {r2-r9}\n\t" TW_PAIRS_END
#define TW_STORE_TOTALS_1 "stm r0!, {r2, r3}\n\t" TW_PAIRS_END
enum { TW_STEP_4_CODE = 60, TW_STEP_1_CODE = 96 };
#else
#define TW_SECOND(w)
#define TW_SUBTRACT(a, b) "sub.w " a ", " a ", " b "\n\t"
#define TW_UP_2(a, free) TW_HIGH_1(a, free)
#define TW_TO_TOTAL(a) "asr.w " a ", " a ", #8\n\t"
#define TW_TO_DOUBLE(a) "asr.w " a ", " a ", #7\n\t"
#define TW_HIGH_2(a, free) TW_HIGH_1(a, free)
#define TW_LEFT_2(a, free) TW_HIGH_1(a, free)
#define TW_STORE_TOTALS_4
#define TW_STORE_TOTALS_1
enum { TW_STEP_4_CODE = 56, TW_STEP_1_CODE = 80 };
#endif

/* Two taps of two filters on four pixels: TW_STEP_4_CODE bytes. */
#define TW_STEP_4(i)                                                                                     \
  "ldr.w r10, [r1, #4*" #i "]\n\tldr.w r12, [r0, #16*" #i "]\n\tldr.w lr, [r0, #16*" #i "+4]\n\t"        \
  "sxtb16 r11, r10\n\t" TW_SECOND("r10")                                                                 \
  "smlad r2, r11, r12, r2\n\tsmlad r6, r10, r12, r6\n\tsmlad r3, r11, lr, r3\n\tsmlad r7, r10, lr, r7\n\t" \
  "ldr.w r12, [r0, #16*" #i "+8]\n\tldr.w lr, [r0, #16*" #i "+12]\n\t"                                   \
  "smlad r4, r11, r12, r4\n\tsmlad r8, r10, r12, r8\n\tsmlad r5, r11, lr, r5\n\tsmlad r9, r10, lr, r9\n\t"

/* A total in `a` becomes a result: factor r10, shift r11, addend r12; `free` is. */
#define TW_END(a) "asr.w " a ", " a ", r11\n\t" TW_LIMIT " " a ", #" TW_RESULT_BITS ", " a "\n\t"
#define TW_UP_1(a, free) "lsl.w " a ", " a ", #1\n\tsmmlar " a ", " a ", r10, r12\n\t" TW_END(a)
#define TW_ROUND_TWICE(a, free) \
  "smmlar " free ", " a ", r10, r12\n\tadd.w " a ", " free ", " a ", asr #31\n\t" TW_END(a)
#define TW_TWICE_1(a, free) "lsl.w " a ", " a ", #1\n\t" TW_ROUND_TWICE(a, free)
#define TW_TWICE_2(a, free) TW_TO_DOUBLE(a) TW_ROUND_TWICE(a, free)
#define TW_HIGH_1(a, free) "smmla " a ", " a ", r10, r12\n\t" TW_END(a)
#define TW_POSITIVE_1(a, free) \
  "smmla " a ", " a ", r10, r12\n\tasr.w " a ", " a ", r11\n\tusat " a ", #" TW_POSITIVE_BITS ", " a "\n\t"
#define TW_POSITIVE_2(a, free) TW_POSITIVE_1(a, free)
#define TW_LEFT_1(a, free) TW_LEFT(a) TW_SCALE(a) TW_LIMIT " " a ", #" TW_RESULT_BITS ", " a ", asr #1\n\t"
#define TW_LOW_1(a, free) "mla " a ", " a ", r10, r12\n\t" TW_END(a)
#define TW_LOW_2(a, free) TW_TO_TOTAL(a) TW_LOW_1(a, free)
#define TW_LEFT(a) "lsl.w " a ", " a ", r11\n\t"
#define TW_SCALE(a) "smmla " a ", " a ", r10, r12\n\t"
#define TW_KEEP_1(a) TW_LIMIT " " a ", #8, " a ", asr #14\n\t"
#define TW_KEEP_2(a) TW_LIMIT " " a ", #8, " a ", asr #10\n\t"
#define TW_ONE_1(a, free) TW_LEFT(a) TW_SCALE(a) TW_KEEP_1(a)
#define TW_ONE_2(a, free) TW_SCALE(a) TW_KEEP_2(a)

/* The same of four totals: one after the other, or where it is short each step of all, as no instruction should wait
 * for the one before. */
#define TW_IN_TURN(WAY, a, b, c, d, free) WAY(a, free) WAY(b, free) WAY(c, free) WAY(d, free)
#define TW_EACH(STEP, a, b, c, d) STEP(a) STEP(b) STEP(c) STEP(d)
#define TW_UP_1_4(a, b, c, d, free) TW_IN_TURN(TW_UP_1, a, b, c, d, free)
#define TW_UP_2_4(a, b, c, d, free) TW_IN_TURN(TW_UP_2, a, b, c, d, free)
#define TW_TWICE_1_4(a, b, c, d, free) TW_IN_TURN(TW_TWICE_1, a, b, c, d, free)
#define TW_TWICE_2_4(a, b, c, d, free) TW_IN_TURN(TW_TWICE_2, a, b, c, d, free)
#define TW_HIGH_1_4(a, b, c, d, free) TW_IN_TURN(TW_HIGH_1, a, b, c, d, free)
#define TW_HIGH_2_4(a, b, c, d, free) TW_IN_TURN(TW_HIGH_2, a, b, c, d, free)
#define TW_POSITIVE_1_4(a, b, c, d, free) TW_IN_TURN(TW_POSITIVE_1, a, b, c, d, free)
#define TW_POSITIVE_2_4(a, b, c, d, free) TW_IN_TURN(TW_POSITIVE_2, a, b, c, d, free)
#define TW_LEFT_1_4(a, b, c, d, free) TW_IN_TURN(TW_LEFT_1, a, b, c, d, free)
#define TW_LEFT_2_4(a, b, c, d, free) TW_IN_TURN(TW_LEFT_2, a, b, c, d, free)
#define TW_LOW_1_4(a, b, c, d, free) TW_IN_TURN(TW_LOW_1, a, b, c, d, free)
#define TW_LOW_2_4(a, b, c, d, free) TW_IN_TURN(TW_LOW_2, a, b, c, d, free)
#define TW_ONE_1_4(a, b, c, d, free) \
  TW_EACH(TW_LEFT, a, b, c, d) TW_EACH(TW_SCALE, a, b, c, d) TW_EACH(TW_KEEP_1, a, b, c, d)
#define TW_ONE_2_4(a, b, c, d, free) TW_EACH(TW_SCALE, a, b, c, d) TW_EACH(TW_KEEP_2, a, b, c, d)

/* The shift of a second filter, where it has one. */
#define TW_SHIFT(at) "ldr.w r11, [r1, " at "]\n\t"
#define TW_NO_SHIFT(at)

/* Code by way, with the one for the first and for the second filter: at 11 and on, and where in a table at 10. */
#define TW_ALIGNED ".balign 4\n\t"
#ifdef TW_APART
#define TW_WAY_ONE(RESULTS) "16:\n\t"
#else
#define TW_WAY_ONE(RESULTS) "16:\n\t" RESULTS(TW_ONE_1, TW_ONE_2, TW_NO_SHIFT)
#endif
#if TW_HAS_POSITIVE
#define TW_WAY_POSITIVE(RESULTS)                                              \
  TW_ALIGNED "17:\n\t" RESULTS(TW_POSITIVE_1, TW_POSITIVE_2, TW_SHIFT) \
  TW_ALIGNED "18:\n\t" RESULTS(TW_LEFT_1, TW_LEFT_2, TW_SHIFT)
#define TW_AT_POSITIVE ", 17b-2b, 18b-2b\n\t"
#else
#define TW_WAY_POSITIVE(RESULTS) "17:\n\t"
#define TW_AT_POSITIVE ", 17b-2b\n\t"
#endif
#if !defined(TW_HAS_EXPONENTS)
#define TW_WAYS(RESULTS, TOTALS)                                                                          \
  TW_WAY_ONE(RESULTS) TW_WAY_POSITIVE(RESULTS) TW_ALIGNED "11:\n\t" RESULTS(TW_UP_1, TW_UP_2, TW_SHIFT)                                      \
  TW_ALIGNED "12:\n\t" RESULTS(TW_TWICE_1, TW_TWICE_2, TW_SHIFT) TW_ALIGNED "13:\n\t" RESULTS(TW_HIGH_1, TW_HIGH_2, TW_SHIFT) \
  TW_ALIGNED "14:\n\t" RESULTS(TW_LOW_1, TW_LOW_2, TW_SHIFT) TW_ALIGNED "15:\n\t" TOTALS                            \
  TW_ALIGNED "10: .word 15b-2b, 11b-2b, 12b-2b, 13b-2b, 14b-2b, 16b-2b" TW_AT_POSITIVE
#elif TW_HAS_EXPONENTS
#define TW_WAYS(RESULTS, TOTALS)                                                                          \
  TW_WAY_ONE(RESULTS) TW_WAY_POSITIVE(RESULTS) TW_ALIGNED "11:\n\t" RESULTS(TW_UP_1, TW_UP_2, TW_SHIFT)                                      \
  TW_ALIGNED "12:\n\t" RESULTS(TW_TWICE_1, TW_TWICE_2, TW_SHIFT) TW_ALIGNED "13:\n\t" RESULTS(TW_HIGH_1, TW_HIGH_2, TW_SHIFT) \
  TW_ALIGNED "15:\n\t" TOTALS TW_ALIGNED "10: .word 15b-2b, 11b-2b, 12b-2b, 13b-2b, 15b-2b, 16b-2b" TW_AT_POSITIVE
#else
#define TW_WAYS(RESULTS, TOTALS)                                                                          \
  TW_WAY_ONE(RESULTS) TW_WAY_POSITIVE(RESULTS) TW_ALIGNED "13:\n\t" RESULTS(TW_HIGH_1, TW_HIGH_2, TW_SHIFT)                                  \
  TW_ALIGNED "14:\n\t" RESULTS(TW_LOW_1, TW_LOW_2, TW_SHIFT) TW_ALIGNED "15:\n\t" TOTALS                            \
  TW_ALIGNED "10: .word 15b-2b, 15b-2b, 15b-2b, 13b-2b, 14b-2b, 16b-2b" TW_AT_POSITIVE
#endif

/* sp, as the fields of tw_pairs: panel 0, its end 4, entry 8, skipped 12, y 16, plane 20, the code of the way 24. The end
 * of the weights 28. r1 is where the weights of the pair begin, from here on. */
#define TW_PAIRS_BEGIN                                                                                       \
  "push {r4-r11, lr}\n\tsub sp, #44\n\tldm.w r0, {r1-r9}\n\tadr.w r12, 2f\n\tadr.w r11, 10f\n\t"             \
  "add r3, r12\n\tldr.w r7, [r11, r7, lsl #2]\n\tadd.w r12, r12, #1\n\tadd r7, r12\n\tmov r10, r8\n\t"       \
  "mov r8, r9\n\tstm.w sp, {r1-r8}\n\t"
#define TW_PAIRS_END "add sp, #44\n\tpop {r4-r11, pc}\n\t"

#define TW_STORE_AT(a, i) TW_STORE_RESULT ".w " a ", [lr, #" #i "*" TW_RESULT_BYTES "]\n\t"
#define TW_STORE_4(a, b, c, d) TW_STORE_AT(a, 0) TW_STORE_AT(b, 1) TW_STORE_AT(c, 2) TW_STORE_AT(d, 3)

/* Both filters of a pair on four pixels, then the next pair. */
#define TW_RESULTS_4(FIRST, SECOND, SHIFT)                                                                               \
  "ldr.w r10, [r1, #128]\n\tldr.w r11, [r1, #132]\n\tldr.w r12, [r1, #136]\n\tldr.w lr, [sp, #16]\n\t"              \
  TW_SUBTRACT("r6", "r2") TW_SUBTRACT("r7", "r3") TW_SUBTRACT("r8", "r4") TW_SUBTRACT("r9", "r5")                   \
  FIRST##_4("r2", "r3", "r4", "r5", "r0") TW_STORE_4("r2", "r3", "r4", "r5")          \
  "ldr.w r10, [r1, #140]\n\t" SHIFT("#144") "ldr.w r12, [r1, #148]\n\tldr r2, [sp, #20]\n\t"                        \
  "ldr r3, [sp, #28]\n\tadd lr, r2\n\t"                                                                             \
  SECOND##_4("r6", "r7", "r8", "r9", "r0")                                                                              \
  "cmp r1, r3\n\t" TW_STORE_4("r6", "r7", "r8", "r9")                                                                \
  "add lr, r2\n\tstr.w lr, [sp, #16]\n\tbne.w 1b\n\t" TW_PAIRS_END

enum { TW_ROUND_4 = 32 };

/* The first step is another one: it adds its products to what totals begin with. Behind the weights of a pair, at 128,
 * are its factors, and at 152 the beginning of the next pair. sp: base of the panel 32, that of the last round 36. At 12
 * is twice what is added to r1, and one more unless one round leads to TW_BY_ONE: the carry keeps that until the round is
 * over, as no product changes it. */
static __attribute__((naked, noinline)) void tw_pairs_on_4(const tw_pairs *job __attribute__((unused))) {
  __asm__ volatile(
      TW_PAIRS_BEGIN
      "rsb.w r0, r4, #164\n\tadd.w r5, r1, #16\n\tsub.w r5, r5, r4, lsl #2\n\tsub.w r6, r2, #512\n\t"
      "adr.w r9, 16f\n\tadds.w r9, r9, #1\n\tlsls r0, r0, #1\n\tcmp r5, r6\n\tit eq\n\tcmpeq r7, r9\n\t"
      "it ne\n\taddne r0, #1\n\tstr r0, [sp, #12]\n\tstr r5, [sp, #32]\n\tstr r6, [sp, #36]\n\t"
      "sub.w r8, r8, #152\n\tstr.w r8, [sp, #28]\n\tsub.w r1, r10, #152\n\t"
      "1:\n\t"
      "ldr r0, [sp, #32]\n\tldr.w lr, [sp, #8]\n\tldr r7, [sp, #12]\n\tldr.w r12, [sp]\n\t"
      "ldr.w r2, [r1, #152]\n\tldr.w r6, [r1, #156]\n\tldr.w r10, [r1, #160]\n\t"
      "ldr.w r3, [r12, #4]\n\tldr.w r4, [r12, #8]\n\tldr.w r5, [r12, #12]\n\tldr.w r12, [r12]\n\t"
      "sxtb16 r11, r10\n\t" TW_SECOND("r10") "asrs r7, r7, #1\n\tadd r1, r7\n\t"
      "smlad r7, r10, r3, r6\n\tsmlad r3, r11, r3, r2\n\tsmlad r8, r10, r4, r6\n\tsmlad r4, r11, r4, r2\n\t"
      "smlad r9, r10, r5, r6\n\tsmlad r5, r11, r5, r2\n\tsmlad r6, r10, r12, r6\n\tsmlad r2, r11, r12, r2\n\t"
      "bx lr\n\t"
      ".balign 4\n\t"
      "2:\n\t"
      TW_STEP_4(0) TW_STEP_4(1) TW_STEP_4(2) TW_STEP_4(3) TW_STEP_4(4) TW_STEP_4(5) TW_STEP_4(6) TW_STEP_4(7)
      TW_STEP_4(8) TW_STEP_4(9) TW_STEP_4(10) TW_STEP_4(11) TW_STEP_4(12) TW_STEP_4(13) TW_STEP_4(14) TW_STEP_4(15)
      TW_STEP_4(16) TW_STEP_4(17) TW_STEP_4(18) TW_STEP_4(19) TW_STEP_4(20) TW_STEP_4(21) TW_STEP_4(22) TW_STEP_4(23)
      TW_STEP_4(24) TW_STEP_4(25) TW_STEP_4(26) TW_STEP_4(27) TW_STEP_4(28) TW_STEP_4(29) TW_STEP_4(30) TW_STEP_4(31)
      "bcs.w 4f\n\t"
      TW_WAYS(TW_RESULTS_4, TW_STORE_TOTALS_4)
      "4:\n\t"
      "ldr.w r12, [sp, #36]\n\tcmp r12, r0\n\tbne 5f\n\tldr.w pc, [sp, #24]\n\t"
      "5:\n\t"
      "add.w r0, r0, #512\n\tadd.w r1, r1, #128\n\tb.w 2b\n\t");
}

/* Eight taps of two filters on one pixel: TW_STEP_1_CODE bytes. */
#define TW_TAPS_2(w, x) "sxtb16 r12, " w "\n\t" TW_SECOND(w) "smlad r2, r12, " x ", r2\n\tsmlad r3, " w ", " x ", r3\n\t"
#define TW_STEP_1(i)                                                                                       \
  "ldr.w r4, [r1, #16*" #i "]\n\tldr.w r5, [r1, #16*" #i "+4]\n\tldr.w r6, [r1, #16*" #i "+8]\n\t"         \
  "ldr.w r7, [r1, #16*" #i "+12]\n\tldr.w r8, [r0, #16*" #i "]\n\tldr.w r9, [r0, #16*" #i "+4]\n\t"        \
  "ldr.w r10, [r0, #16*" #i "+8]\n\tldr.w r11, [r0, #16*" #i "+12]\n\t"                                   \
  TW_TAPS_2("r4", "r8") TW_TAPS_2("r5", "r9") TW_TAPS_2("r6", "r10") TW_TAPS_2("r7", "r11")

enum { TW_ROUND_1 = 8 };

#define TW_RESULTS_1(FIRST, SECOND, SHIFT)                                                                               \
  FIRST("r2", "r4") TW_STORE_RESULT " r2, [r0]\n\tldr.w r10, [r1, #12]\n\t" SHIFT("#16") "ldr.w r12, [r1, #20]\n\t"               \
  "ldr r2, [sp, #28]\n\tadds r1, #24\n\t"                                                                           \
  SECOND("r3", "r4")                                                                                                \
  "add r0, r5\n\tcmp r1, r2\n\t" TW_STORE_RESULT " r3, [r0]\n\tadd r0, r5\n\tstr r0, [sp, #16]\n\tbne.w 1b\n\t" TW_PAIRS_END

static __attribute__((naked, noinline)) void tw_pairs_on_1(const tw_pairs *job __attribute__((unused))) {
  __asm__ volatile(
      TW_PAIRS_BEGIN
      "mov r1, r10\n\t"
      "1:\n\t"
      "ldr r0, [sp]\n\tldr.w lr, [sp, #4]\n\tldr r5, [sp, #12]\n\tldr r2, [r1]\n\tldr r3, [r1, #4]\n\tadds r1, #8\n\t"
      "subs.w r4, lr, r0\n\tands.w r4, r4, #12\n\t"
      "beq 7f\n\t"
      "6:\n\t"
      "ldr r6, [r1], #4\n\tldr r7, [r0], #4\n\tsubs r4, #4\n\t" TW_TAPS_2("r6", "r7")
      "bne 6b\n\t"
      "cmp r0, lr\n\tbeq.w 9f\n\t"
      "7:\n\t"
      "subs r0, r0, r5\n\tsubs r1, r1, r5\n\tldr.w pc, [sp, #8]\n\t"
      ".balign 4\n\t"
      "2:\n\t"
      TW_STEP_1(0) TW_STEP_1(1) TW_STEP_1(2) TW_STEP_1(3) TW_STEP_1(4) TW_STEP_1(5) TW_STEP_1(6) TW_STEP_1(7)
      "adds r0, #128\n\tadds r1, #128\n\tcmp r0, lr\n\tbne.w 2b\n\t"
      "9:\n\t"
      TW_SUBTRACT("r3", "r2")
      "ldr r0, [sp, #16]\n\tldr r5, [sp, #20]\n\tldr.w r10, [r1]\n\tldr.w r11, [r1, #4]\n\tldr.w r12, [r1, #8]\n\t"
      "ldr.w pc, [sp, #24]\n\t"
      TW_ALIGNED
      TW_WAYS(TW_RESULTS_1, TW_STORE_TOTALS_1));
}

/* Where the code is entered for rounds of some steps; not at all for none. */
static inline void tw_enter(tw_pairs *job, int32_t steps, int32_t a_round, int32_t step_code, int32_t step_bytes) {
  const int32_t skipped = steps == 0 ? a_round : (a_round - steps % a_round) % a_round;
  job->entry = skipped * step_code + 1;
  job->skipped = skipped * step_bytes;
}

/* One step is done before. */
static inline void tw_enter_on_4(tw_pairs *job, int32_t steps) {
  tw_enter(job, steps - 1, TW_ROUND_4, TW_STEP_4_CODE, 4);
}

static inline void tw_enter_on_1(tw_pairs *job, int32_t steps) {
  tw_enter(job, steps / 4, TW_ROUND_1, TW_STEP_1_CODE, 16);
}

#else

#ifdef TW_APART
#define TW_IS_APART 1
#else
#define TW_IS_APART 0
#endif

/* What is constant of a pair. */
typedef struct {
  const int8_t *w;
  int32_t start, both;
  int32_t scale[2][3]; /* factor, shift, addend */
} tw_pair;

static tw_pair tw_pair_at(const int8_t *at, int32_t steps) {
  tw_pair pair;
  pair.w = at + TW_PAIR_STARTS;
  __builtin_memcpy(&pair.start, at, sizeof pair.start);
  __builtin_memcpy(&pair.both, at + sizeof pair.start, sizeof pair.both);
  __builtin_memcpy(pair.scale, pair.w + 4 * steps, sizeof pair.scale);
  return pair;
}

/* Of the first or the second filter. */
static int32_t tw_weight(const int8_t *w, int32_t second) {
  return second ? w[1] + (!TW_IS_APART && w[0] < 0) : w[0];
}

static int32_t tw_half(uint32_t word, int32_t which) { return (int16_t)(word >> (16 * which)); }

/* The total of a filter of a pair on a pixel; that of the second one 256 times as large, if filters are not apart. */
static int32_t tw_total(const tw_pairs *job, const tw_pair *pair, int32_t second, int32_t pixel, int32_t pixels) {
  const int8_t *w = pair->w;
  const int32_t larger = second && !TW_IS_APART ? 256 : 1;
  uint32_t total = (uint32_t)(second ? pair->both : pair->start);
  if (larger > 1) total -= (uint32_t)pair->start;
  for (const uint32_t *x = job->panel + pixel; x < job->panel_end; x += pixels, w += 4) {
    const int32_t sum = tw_weight(w, second) * tw_half(*x, 0) + tw_weight(w + 2, second) * tw_half(*x, 1);
    total += (uint32_t)(larger * sum);
  }
  return (int32_t)total;
}

static int32_t tw_result(int32_t way, const int32_t *scale, int32_t is_larger, int32_t total) {
  const int32_t bits = 8 * (int32_t)sizeof(TW_Y), most = (TW_Y)-1 > 0 ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
  const int32_t least = (TW_Y)-1 > 0 || way == TW_BY_POSITIVE ? 0 : -1 - most;
  const int32_t is_left = way == TW_BY_LEFT && !is_larger;
  const int32_t is_high = way == TW_BY_UP || way == TW_BY_HIGH || way == TW_BY_ONE || way == TW_BY_POSITIVE ||
                          way == TW_BY_LEFT;
  const int32_t plain = is_larger && !is_high ? total >> 8 : total;
  const int64_t product = (int64_t)plain * scale[0];
  const int64_t value = is_left || (way == TW_BY_ONE && !is_larger) ? (product << scale[1]) >> 32
                        : way == TW_BY_UP && !is_larger ? tw_high_product(plain, scale[0])
                        : way == TW_BY_TWICE            ? tw_high_product(plain, scale[0]) - (plain < 0)
                        : is_high                       ? product >> 32
                                                        : product;
  const int32_t one_shift = is_larger ? TW_ONE_SECOND_SHIFT : TW_ONE_FIRST_SHIFT;
  const int32_t shift = is_left ? 1 : way == TW_BY_ONE ? one_shift : scale[1];
  return tw_clamp((int32_t)((value + scale[2]) >> shift), least, most);
}

static void tw_pairs_in_c(tw_pairs job, int32_t pixels) {
  int32_t *const totals = (int32_t *)(void *)job.y;
  const int32_t steps = (int32_t)(job.panel_end - job.panel) / pixels;
  for (; job.w != job.w_end; job.w += tw_pair_bytes(steps)) {
    const tw_pair pair = tw_pair_at(job.w, steps);
    for (int32_t f = 0; f < 2; f++, job.y = tw_moved(job.y, job.plane)) {
      for (int32_t i = 0; i < pixels; i++) {
        const int32_t total = tw_total(&job, &pair, f, i, pixels);
        if (job.way == TW_BY_TOTALS) {
          totals[f * pixels + i] = total;
        } else {
          job.y[i] = (TW_Y)tw_result(job.way, pair.scale[f], f && !TW_IS_APART, total);
        }
      }
    }
  }
}

static void tw_pairs_on_4(const tw_pairs *job) { tw_pairs_in_c(*job, 4); }
static void tw_pairs_on_1(const tw_pairs *job) { tw_pairs_in_c(*job, 1); }
static inline void tw_enter_on_4(tw_pairs *job, int32_t steps) { (void)job, (void)steps; }
static inline void tw_enter_on_1(tw_pairs *job, int32_t steps) { (void)job, (void)steps; }

#endif

#endif
