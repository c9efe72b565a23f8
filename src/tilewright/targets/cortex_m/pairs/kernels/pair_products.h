/* Filters in pairs on pixels from a panel: products, and results by the short ways. Needs TW_Y.
 *
 * A panel has a word for each pixel at every two taps: elements of 16 bits. A word of weights has two filters at two
 * taps; the even bytes are the first filter's. The word as it is has halves that are the first plus 256 times the
 * second, and so has its total, from which that of the first is subtracted at the end. With TW_APART the odd bytes are
 * extended too. */
#ifndef TW_PAIR_PRODUCTS_H
#define TW_PAIR_PRODUCTS_H

/* A piece of assembly is one string, longer than what C99 asks compilers for. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

#include "always.h"
#include "requant.h"
#include "tw.h"
#include "ways.h"

enum { TW_PAIR_WORDS = 8 }; /* of a pair: starts of the first and of both; factor, shift, addend of each */

/* Pairs of filters on the pixels of one panel. The assembly knows the order of the fields. */
typedef struct {
  const uint32_t *panel;
  int32_t entry, skipped; /* where the first round begins in the code, and bytes of weights that it has not */
  const uint32_t *panel_end;
  TW_Y *y;
  int32_t plane; /* from a filter's results to the next one's */
  const int32_t *starts;
  const int8_t *w;
  const int32_t *starts_end;
  int32_t way;
} tw_pairs;

#ifdef __ARM_FEATURE_DSP

/* What the second filter is multiplied by, and what has to be done with its totals then. */
#ifdef TW_APART
#define TW_SECOND(w) "sxtb16 " w ", " w ", ror #8\n\t"
#define TW_SUBTRACT(a, b)
#define TW_TO_TOTAL(a)
#define TW_TO_DOUBLE(a) "lsl.w " a ", " a ", #1\n\t"
/* Totals of one pair are left as they are: only filters that are apart go that way. */
#define TW_STORE_TOTALS_4 "stm.w r0, {r2-r9}\n\t" TW_PAIRS_END
#define TW_STORE_TOTALS_1 "stm r0!, {r2, r3}\n\t" TW_PAIRS_END
enum { TW_STEP_4_CODE = 60, TW_STEP_1_CODE = 96 };
#else
#define TW_SECOND(w)
#define TW_SUBTRACT(a, b) "sub.w " a ", " a ", " b "\n\t"
#define TW_TO_TOTAL(a) "asr.w " a ", " a ", #8\n\t"
#define TW_TO_DOUBLE(a) "asr.w " a ", " a ", #7\n\t"
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

/* A total in `a` becomes a result: factor r10, shift r11, addend r1; `free` is. */
#define TW_END(a) "asr.w " a ", " a ", r11\n\t" TW_LIMIT " " a ", #8, " a "\n\t"
#define TW_UP_1(a, free) "lsl.w " a ", " a ", #1\n\tsmmlar " a ", " a ", r10, r1\n\t" TW_END(a)
#define TW_UP_2(a, free) TW_TO_DOUBLE(a) "smmlar " a ", " a ", r10, r1\n\t" TW_END(a)
#define TW_ROUND_TWICE(a, free) \
  "smmlar " free ", " a ", r10, r1\n\tadd.w " a ", " free ", " a ", asr #31\n\t" TW_END(a)
#define TW_TWICE_1(a, free) "lsl.w " a ", " a ", #1\n\t" TW_ROUND_TWICE(a, free)
#define TW_TWICE_2(a, free) TW_TO_DOUBLE(a) TW_ROUND_TWICE(a, free)
#define TW_HIGH_1(a, free) "smmla " a ", " a ", r10, r1\n\t" TW_END(a)
#define TW_HIGH_2(a, free) TW_TO_TOTAL(a) TW_HIGH_1(a, free)
#define TW_LOW_1(a, free) "mla " a ", " a ", r10, r1\n\t" TW_END(a)
#define TW_LOW_2(a, free) TW_TO_TOTAL(a) TW_LOW_1(a, free)

#define TW_STORE_4(a, b, c, d) \
  "strb " a ", [r0]\n\tstrb " b ", [r0, #1]\n\tstrb " c ", [r0, #2]\n\tstrb " d ", [r0, #3]\n\t"

/* sp, as the fields of tw_pairs: panel 0, entry 4, skipped 8, end of the panel 12, y 16, plane 20, starts 24, w 28 (of
 * the next pair), end of the starts 32, way 36. */
#define TW_PAIRS_BEGIN                                                                                              \
  "push {r4-r11, lr}\n\tsub sp, #44\n\tldm.w r0, {r1-r10}\n\tadr.w r12, 2f\n\tadd r2, r12\n\tstm.w sp, {r1-r10}\n\t"
#define TW_PAIRS_END "add sp, #44\n\tpop {r4-r11, pc}\n\t"

/* Both filters of a pair on four pixels, then the next pair. */
#define TW_RESULTS_4(FIRST, SECOND)                                                                                 \
  "ldr.w r12, [sp, #24]\n\tldr r0, [sp, #16]\n\tldr.w r10, [r12, #8]\n\tldr.w r11, [r12, #12]\n\t"                  \
  "ldr.w r1, [r12, #16]\n\t"                                                                                        \
  FIRST("r2", "lr") FIRST("r3", "lr") FIRST("r4", "lr") FIRST("r5", "lr") TW_STORE_4("r2", "r3", "r4", "r5")          \
  "ldr r3, [sp, #20]\n\tldr.w r10, [r12, #20]\n\tldr.w r11, [r12, #24]\n\tldr.w r1, [r12, #28]\n\tadd r0, r3\n\t"   \
  SECOND("r6", "r4") SECOND("r7", "r4") SECOND("r8", "r4") SECOND("r9", "r4") TW_STORE_4("r6", "r7", "r8", "r9")      \
  "add r0, r3\n\tadd.w r12, r12, #32\n\tldr r3, [sp, #32]\n\tstr r0, [sp, #16]\n\tstr.w r12, [sp, #24]\n\t"         \
  "cmp r12, r3\n\tbne.w 1b\n\t" TW_PAIRS_END

/* By the way in `way`: of the first and of the second filter. */
#if !defined(TW_HAS_EXPONENTS)
#define TW_WAYS(way, RESULTS, TOTALS)                                                                  \
  "cmp.w " way ", #1\n\tbne 3f\n\t" RESULTS(TW_UP_1, TW_UP_2)                                          \
  "3:\n\tcmp.w " way ", #2\n\tbne 3f\n\t" RESULTS(TW_TWICE_1, TW_TWICE_2)                            \
  "3:\n\tcmp.w " way ", #3\n\tbne 3f\n\t" RESULTS(TW_HIGH_1, TW_HIGH_2)                              \
  "3:\n\tcmp.w " way ", #4\n\tbne 3f\n\t" RESULTS(TW_LOW_1, TW_LOW_2) "3:\n\t" TOTALS
#elif TW_HAS_EXPONENTS
#define TW_WAYS(way, RESULTS, TOTALS)                                                                  \
  "cmp.w " way ", #1\n\tbne 3f\n\t" RESULTS(TW_UP_1, TW_UP_2)                                          \
  "3:\n\tcmp.w " way ", #2\n\tbne 3f\n\t" RESULTS(TW_TWICE_1, TW_TWICE_2)                            \
  "3:\n\tcmp.w " way ", #3\n\tbne 3f\n\t" RESULTS(TW_HIGH_1, TW_HIGH_2) "3:\n\t" TOTALS
#else
#define TW_WAYS(way, RESULTS, TOTALS)                                                                  \
  "cmp.w " way ", #3\n\tbne 3f\n\t" RESULTS(TW_HIGH_1, TW_HIGH_2)                                      \
  "3:\n\tcmp.w " way ", #4\n\tbne 3f\n\t" RESULTS(TW_LOW_1, TW_LOW_2) "3:\n\t" TOTALS
#endif

enum { TW_ROUND_4 = 32 };

static __attribute__((naked, noinline)) void tw_pairs_on_4(const tw_pairs *job __attribute__((unused))) {
  __asm__ volatile(
      TW_PAIRS_BEGIN
      "1:\n\t"
      "ldr r0, [sp]\n\tldr r1, [sp, #28]\n\tldr.w lr, [sp, #8]\n\tldr.w r12, [sp, #24]\n\t"
      "ldr.w r2, [r12]\n\tldr.w r6, [r12, #4]\n\t"
      "sub.w r1, r1, lr\n\t"
      "mov r3, r2\n\tmov r4, r2\n\tmov r5, r2\n\tmov r7, r6\n\tmov r8, r6\n\tmov r9, r6\n\t"
      "ldr.w pc, [sp, #4]\n\t"
      ".balign 4\n\t"
      "2:\n\t"
      TW_STEP_4(0) TW_STEP_4(1) TW_STEP_4(2) TW_STEP_4(3) TW_STEP_4(4) TW_STEP_4(5) TW_STEP_4(6) TW_STEP_4(7)
      TW_STEP_4(8) TW_STEP_4(9) TW_STEP_4(10) TW_STEP_4(11) TW_STEP_4(12) TW_STEP_4(13) TW_STEP_4(14) TW_STEP_4(15)
      TW_STEP_4(16) TW_STEP_4(17) TW_STEP_4(18) TW_STEP_4(19) TW_STEP_4(20) TW_STEP_4(21) TW_STEP_4(22) TW_STEP_4(23)
      TW_STEP_4(24) TW_STEP_4(25) TW_STEP_4(26) TW_STEP_4(27) TW_STEP_4(28) TW_STEP_4(29) TW_STEP_4(30) TW_STEP_4(31)
      "add.w r0, r0, #512\n\tadds r1, #128\n\tldr.w r12, [sp, #12]\n\tldr.w lr, [sp, #36]\n\tstr r1, [sp, #28]\n\t"
      "cmp r0, r12\n\tbne.w 2b\n\t"
      TW_SUBTRACT("r6", "r2") TW_SUBTRACT("r7", "r3") TW_SUBTRACT("r8", "r4") TW_SUBTRACT("r9", "r5")
      TW_WAYS("lr", TW_RESULTS_4, "ldr r0, [sp, #16]\n\t" TW_STORE_TOTALS_4));
}

/* Eight taps of two filters on one pixel: TW_STEP_1_CODE bytes. */
#define TW_TAPS_2(w, x) "sxtb16 r12, " w "\n\t" TW_SECOND(w) "smlad r2, r12, " x ", r2\n\tsmlad r3, " w ", " x ", r3\n\t"
#define TW_STEP_1(i)                                                                                       \
  "ldr.w r4, [r1, #16*" #i "]\n\tldr.w r5, [r1, #16*" #i "+4]\n\tldr.w r6, [r1, #16*" #i "+8]\n\t"         \
  "ldr.w r7, [r1, #16*" #i "+12]\n\tldr.w r8, [r0, #16*" #i "]\n\tldr.w r9, [r0, #16*" #i "+4]\n\t"        \
  "ldr.w r10, [r0, #16*" #i "+8]\n\tldr.w r11, [r0, #16*" #i "+12]\n\t"                                   \
  TW_TAPS_2("r4", "r8") TW_TAPS_2("r5", "r9") TW_TAPS_2("r6", "r10") TW_TAPS_2("r7", "r11")

enum { TW_ROUND_1 = 8 };

#define TW_RESULTS_1(FIRST, SECOND)                                                                                 \
  FIRST("r2", "r4") "strb r2, [r0]\n\tldr.w r10, [r12, #20]\n\tldr.w r11, [r12, #24]\n\tldr.w r1, [r12, #28]\n\t"     \
  SECOND("r3", "r4")                                                                                                \
  "add r0, r5\n\tadd.w r12, r12, #32\n\tstrb r3, [r0]\n\tadd r0, r5\n\tldr r3, [sp, #32]\n\tstr r0, [sp, #16]\n\t"  \
  "str.w r12, [sp, #24]\n\tcmp r12, r3\n\tbne.w 1b\n\t" TW_PAIRS_END

static __attribute__((naked, noinline)) void tw_pairs_on_1(const tw_pairs *job __attribute__((unused))) {
  __asm__ volatile(
      TW_PAIRS_BEGIN
      "1:\n\t"
      "ldr r0, [sp]\n\tldr.w r12, [sp, #24]\n\tldr r1, [sp, #28]\n\tldr.w lr, [sp, #12]\n\tldr r5, [sp, #8]\n\t"
      "ldr.w r2, [r12]\n\tldr.w r3, [r12, #4]\n\t"
      "subs.w r4, lr, r0\n\tands.w r4, r4, #12\n\t"
      "beq 7f\n\t"
      "6:\n\t"
      "ldr r6, [r1], #4\n\tldr r7, [r0], #4\n\tsubs r4, #4\n\t" TW_TAPS_2("r6", "r7")
      "bne 6b\n\t"
      "cmp r0, lr\n\tbeq.w 9f\n\t"
      "7:\n\t"
      "subs r0, r0, r5\n\tsubs r1, r1, r5\n\tldr.w pc, [sp, #4]\n\t"
      ".balign 4\n\t"
      "2:\n\t"
      TW_STEP_1(0) TW_STEP_1(1) TW_STEP_1(2) TW_STEP_1(3) TW_STEP_1(4) TW_STEP_1(5) TW_STEP_1(6) TW_STEP_1(7)
      "adds r0, #128\n\tadds r1, #128\n\tcmp r0, lr\n\tbne.w 2b\n\t"
      "9:\n\t"
      "str r1, [sp, #28]\n\tldr.w r12, [sp, #24]\n\tldr r0, [sp, #16]\n\tldr r7, [sp, #36]\n\tldr r5, [sp, #20]\n\t"
      "ldr.w r10, [r12, #8]\n\tldr.w r11, [r12, #12]\n\tldr.w r1, [r12, #16]\n\t"
      TW_SUBTRACT("r3", "r2")
      TW_WAYS("r7", TW_RESULTS_1, TW_STORE_TOTALS_1));
}

/* Where the code is entered for rounds of some steps. */
static inline void tw_enter(tw_pairs *job, int32_t steps, int32_t a_round, int32_t step_code, int32_t step_bytes) {
  const int32_t skipped = (a_round - steps % a_round) % a_round;
  job->entry = skipped * step_code + 1;
  job->skipped = skipped * step_bytes;
}

static inline tw_pairs tw_pairs_for_4(tw_pairs job, int32_t steps) {
  tw_enter(&job, steps, TW_ROUND_4, TW_STEP_4_CODE, 4);
  job.panel_end = job.panel + 4 * steps;
  job.panel = (const uint32_t *)((uintptr_t)job.panel - (uintptr_t)(4 * job.skipped));
  return job;
}

static inline tw_pairs tw_pairs_for_1(tw_pairs job, int32_t steps) {
  tw_enter(&job, steps / 4, TW_ROUND_1, TW_STEP_1_CODE, 16);
  job.panel_end = job.panel + steps;
  return job;
}

#else

#ifdef TW_APART
#define TW_IS_APART 1
#else
#define TW_IS_APART 0
#endif

/* Of the first or the second filter. */
static int32_t tw_weight(const int8_t *w, int32_t second) {
  return second ? w[1] + (!TW_IS_APART && w[0] < 0) : w[0];
}

static int32_t tw_half(uint32_t word, int32_t which) { return (int16_t)(word >> (16 * which)); }

/* The total of a filter of a pair on a pixel. */
static int32_t tw_total(const tw_pairs *job, int32_t second, int32_t pixel, int32_t pixels) {
  const int8_t *w = job->w;
  uint32_t total = (uint32_t)job->starts[0];
  if (second) total = TW_IS_APART ? (uint32_t)job->starts[1] : (uint32_t)((int32_t)((uint32_t)job->starts[1] - total) >> 8);
  for (const uint32_t *x = job->panel + pixel; x < job->panel_end; x += pixels, w += 4) {
    total += (uint32_t)(tw_weight(w, second) * tw_half(*x, 0) + tw_weight(w + 2, second) * tw_half(*x, 1));
  }
  return (int32_t)total;
}

static int32_t tw_result(const tw_pairs *job, int32_t second, int32_t total) {
  const int32_t *const own = job->starts + 2 + 3 * second, is_unsigned = (TW_Y)-1 > 0;
  const int64_t product = (int64_t)total * own[0];
  const int64_t value = job->way == TW_BY_UP      ? tw_high_product(total, own[0])
                        : job->way == TW_BY_TWICE ? tw_high_product(total, own[0]) - (total < 0)
                        : job->way == TW_BY_HIGH  ? product >> 32
                                                  : product;
  return tw_clamp((int32_t)((value + own[2]) >> own[1]), is_unsigned ? 0 : -128, is_unsigned ? 255 : 127);
}

static void tw_pairs_in_c(tw_pairs job, int32_t pixels) {
  int32_t *const totals = (int32_t *)(void *)job.y;
  for (; job.starts != job.starts_end; job.starts += TW_PAIR_WORDS) {
    for (int32_t f = 0; f < 2; f++, job.y += job.plane) {
      for (int32_t i = 0; i < pixels; i++) {
        const int32_t total = tw_total(&job, f, i, pixels);
        if (job.way == TW_BY_TOTALS) {
          totals[f * pixels + i] = total;
        } else {
          job.y[i] = (TW_Y)tw_result(&job, f, total);
        }
      }
    }
    job.w += 4 * (job.panel_end - job.panel) / pixels;
  }
}

static void tw_pairs_on_4(const tw_pairs *job) { tw_pairs_in_c(*job, 4); }
static void tw_pairs_on_1(const tw_pairs *job) { tw_pairs_in_c(*job, 1); }

static inline tw_pairs tw_pairs_for_4(tw_pairs job, int32_t steps) {
  job.panel_end = job.panel + 4 * steps;
  return job;
}

static inline tw_pairs tw_pairs_for_1(tw_pairs job, int32_t steps) {
  job.panel_end = job.panel + steps;
  return job;
}

#endif

#endif
