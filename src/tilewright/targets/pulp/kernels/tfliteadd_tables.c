/* The sum of two tensors of bytes as TensorFlow Lite has it; broadcast; all cores together. What becomes of one operand
 * stands in a table, or of both; then both roundings of the sum are one (neureka/finish.py says why). */
#include "tfliteadd_tables.h"

#ifndef TW_NAME
#define TW_NAME tw_tfliteadd_tables_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_binary.h"
#include "lanes.h"

typedef struct {
  const int32_t *first, *second; /* at the entries of 0 */
  int32_t mul, less, summand, shift, top, low;
} tables;

static inline int32_t add(const tables *t, int32_t a, int32_t b, int even) {
  const int32_t sum = t->first[a] + t->second[b];
  const int32_t high = tw_x_mac((int32_t)((int64_t)sum * t->mul >> 32), sum >> 31, t->less);
  (void)even;
  return tw_x_clipu(tw_x_addn(high, (uint32_t)t->summand, (uint32_t)t->shift), t->top);
}

static inline int32_t add_once(const tables *t, int32_t a, int32_t b, int even) {
  (void)even;
  return tw_x_clipu(tw_x_mac(t->first[a], b, t->mul) >> t->shift, t->top);
}

TW_BYTE_BINARY_ROW(row_of, tables, add, 0)

#if TW_XPULP
#define TW_A_ENTRY(d) "slli " d ", " d ", 2\n"
#define TW_A_LOOK_UP(d) TW_A_WORD_AT(d, "%[first]", d)
#define TW_A_NARROW(d) "sra " d ", " d ", %[shift]\n" TW_A_R(TW_E_CLIPU, d, d, "%[top]")
#define TW_A_SUMMANDS(DO) TW_A_FOUR(DO, "%[a0]", "%[a1]", "%[a2]", "%[a3]")

/* Four elements for each of `words`; a step of 4 goes on to the next word, one of 0 stays. */
static inline void words_once(const tables *t, const void *a, int32_t step_a, const void *b, int32_t step_b, void *y,
                              int32_t words) {
  const uint32_t low = 0x01010101u * (uint8_t)t->low;
  int32_t a0, a1, a2, a3, b0, b1, b2, b3;
  __asm__ volatile(
      TW_A_BEGIN TW_A_LOOP("%[words]", 34) TW_A_LW_STEP("%[a3]", "%[a]", "%[step_a]")
      TW_A_LW_STEP("%[b3]", "%[b]", "%[step_b]") TW_A_BYTES("a_sign", "%[a3]", "%[a0]", "%[a1]", "%[a2]", "%[a3]")
      TW_A_SUMMANDS(TW_A_ENTRY) TW_A_SUMMANDS(TW_A_LOOK_UP)
      TW_A_BYTES("b_sign", "%[b3]", "%[b0]", "%[b1]", "%[b2]", "%[b3]")
      TW_A_R(TW_E_MAC, "%[a0]", "%[b0]", "%[mul]") TW_A_R(TW_E_MAC, "%[a1]", "%[b1]", "%[mul]")
      TW_A_R(TW_E_MAC, "%[a2]", "%[b2]", "%[mul]") TW_A_R(TW_E_MAC, "%[a3]", "%[b3]", "%[mul]")
      TW_A_SUMMANDS(TW_A_NARROW) TW_A_PACK4("%[a0]", "%[a1]", "%[a2]", "%[a3]")
      TW_A_R(TW_E_ADD4, "%[a0]", "%[a0]", "%[low]") TW_A_SW("%[a0]", "%[y]", "4") TW_A_END
      : [a] "+r"(a), [b] "+r"(b), [y] "+r"(y), [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2), [a3] "=&r"(a3),
        [b0] "=&r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3)
      : [words] "r"(words), [step_a] "r"(step_a), [step_b] "r"(step_b), [first] "r"(t->first), [mul] "r"(t->mul),
        [shift] "r"(t->shift), [top] "r"(t->top), [low] "r"(low), [a_sign] "i"(TW_I_BYTE((TW_A)-1 < 0)),
        [b_sign] "i"(TW_I_BYTE((TW_B)-1 < 0))
      : "memory");
}
#endif

static __attribute__((noinline)) void row_of_once(const tables *t, const TW_A *a, int32_t step_a, const TW_B *b,
                                                  int32_t step_b, TW_Y *y, int32_t count) {
#if TW_XPULP
  if (count >= 4 && (step_a & ~1) == 0 && (step_b & ~1) == 0) {
    const uint32_t all_a = 0x01010101u * (uint8_t)a[0], all_b = 0x01010101u * (uint8_t)b[0];
    const int32_t words = count >> 2, done = 4 * words;
    words_once(t, step_a ? (const void *)a : &all_a, 4 * step_a, step_b ? (const void *)b : &all_b, 4 * step_b, y, words);
    a += done * step_a, b += done * step_b, y += done, count -= done;
  }
#endif
  for (; count > 0; count--, a += step_a, b += step_b) *y++ = (TW_Y)(add_once(t, *a, *b, 0) + t->low);
}

void TW_NAME(const tw_tfliteadd_tables_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const tw_tfliteadd_tables_params *const p = params;
  const tables t = {p->first + 128 * ((TW_A)-1 < 0), p->second + 128 * ((TW_B)-1 < 0), p->mul, p->less, p->summand,
                    p->shift, p->top, p->low};
  if (p->once) {
    TW_BINARY_ROWS(row_of_once, &t, &p->loops, a, b, y);
  } else {
    TW_BINARY_ROWS(row_of, &t, &p->loops, a, b, y);
  }
}
