/* y = out(first(a) + second(b)) of bytes, each of the three a requantisation; broadcast; all cores together. Tables among
 * the parameters hold what becomes of every a, every b and every sum. */
#include "requantizedadd_tables.h"

#ifndef TW_NAME
#define TW_NAME tw_requantizedadd_tables_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_binary.h"
#include "lanes.h"

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)

/* Pointers to the entries of 0; the last one for bytes that are plain, too. */
typedef struct {
  const uint8_t *first, *second, *out, *out_of_plain;
  int32_t plain;
} tables;

#if TW_XPULP
#define TW_A_FIRST(d) TW_A_BYTE_AT(d, "%[first]", d)
#define TW_A_SECOND(d) TW_A_BYTE_AT(d, "%[second]", d)
#define TW_A_OUT(d) TW_A_BYTE_AT(d, "%[out]", d)
#define TW_A_ALL_FIRST TW_A_FOUR(TW_A_FIRST, "%[a0]", "%[a1]", "%[a2]", "%[a3]")
#define TW_A_ALL_SECOND TW_A_FOUR(TW_A_SECOND, "%[b0]", "%[b1]", "%[b2]", "%[b3]")

/* Four elements for each of `words`; a step of 4 goes on to the next word, one of 0 stays. LOOKUPS are in tables of one
 * operand, or of both. */
#define TW_DEFINE_ADD_WORDS(NAME, LINES, LOOKUPS)                                                                     \
  static inline void NAME(const tables *t, const void *a, int32_t step_a, const void *b, int32_t step_b, void *y,     \
                          int32_t words) {                                                                            \
    int32_t a0, a1, a2, a3, b0, b1, b2, b3;                                                                           \
    __asm__ volatile(                                                                                                 \
        TW_A_BEGIN TW_A_LOOP("%[words]", LINES) TW_A_LW_STEP("%[a3]", "%[a]", "%[step_a]")                            \
        TW_A_LW_STEP("%[b3]", "%[b]", "%[step_b]") TW_A_BYTES("a_sign", "%[a3]", "%[a0]", "%[a1]", "%[a2]", "%[a3]")  \
        TW_A_BYTES("b_sign", "%[b3]", "%[b0]", "%[b1]", "%[b2]", "%[b3]") LOOKUPS                                     \
        "add %[a0], %[a0], %[b0]\nadd %[a1], %[a1], %[b1]\nadd %[a2], %[a2], %[b2]\nadd %[a3], %[a3], %[b3]\n"       \
        TW_A_FOUR(TW_A_OUT, "%[a0]", "%[a1]", "%[a2]", "%[a3]") TW_A_PACK4("%[a0]", "%[a1]", "%[a2]", "%[a3]")        \
        TW_A_SW("%[a0]", "%[y]", "4") TW_A_END                                                                        \
        : [a] "+r"(a), [b] "+r"(b), [y] "+r"(y), [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2), [a3] "=&r"(a3),      \
          [b0] "=&r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3)                                              \
        : [words] "r"(words), [step_a] "r"(step_a), [step_b] "r"(step_b), [first] "r"(t->first),                      \
          [second] "r"(t->second), [out] "r"(t->out_of_plain), [a_sign] "i"(TW_I_BYTE(TW_A_SIGNED)),                  \
          [b_sign] "i"(TW_I_BYTE(TW_B_SIGNED))                                                                        \
        : "memory");                                                                                                  \
  }
TW_DEFINE_ADD_WORDS(add_looked_up, 29, TW_A_ALL_FIRST TW_A_ALL_SECOND)
TW_DEFINE_ADD_WORDS(add_to_plain, 25, TW_A_ALL_FIRST)
TW_DEFINE_ADD_WORDS(add_plain, 21, "")
#endif

static __attribute__((noinline)) void row_of(const tables *t, const TW_A *a, int32_t step_a, const TW_B *b,
                                             int32_t step_b, TW_Y *y, int32_t count) {
#if TW_XPULP
  if (count >= 4 && (step_a & ~1) == 0 && (step_b & ~1) == 0) {
    const uint32_t all_a = 0x01010101u * (uint8_t)a[0], all_b = 0x01010101u * (uint8_t)b[0];
    const int32_t words = count >> 2, done = 4 * words;
    const void *const from_a = step_a ? (const void *)a : &all_a, *const from_b = step_b ? (const void *)b : &all_b;
    switch (t->plain) {
      case TW_NONE_PLAIN: add_looked_up(t, from_a, 4 * step_a, from_b, 4 * step_b, y, words); break;
      case TW_SECOND_PLAIN: add_to_plain(t, from_a, 4 * step_a, from_b, 4 * step_b, y, words); break;
      default: add_plain(t, from_a, 4 * step_a, from_b, 4 * step_b, y, words); break;
    }
    a += done * step_a, b += done * step_b, y += done, count -= done;
  }
#endif
  for (; count > 0; count--, a += step_a, b += step_b) *y++ = (TW_Y)t->out[t->first[*a] + t->second[*b]];
}

void TW_NAME(const tw_requantizedadd_tables_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const int32_t lowest_a = 128 * TW_A_SIGNED, lowest_b = 128 * TW_B_SIGNED, plain = params->plain;
  const int32_t of_plain = (plain == TW_BOTH_PLAIN ? lowest_a : 0) + (plain == TW_NONE_PLAIN ? 0 : lowest_b);
  const tables t = {params->first + lowest_a, params->second + lowest_b, params->out, params->out + of_plain, plain};
  TW_BINARY_ROWS(row_of, &t, &params->loops, a, b, y);
}
