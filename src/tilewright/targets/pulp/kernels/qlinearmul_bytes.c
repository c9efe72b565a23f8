/* y = out((a - a_zero) * (b - b_zero)), a requantisation; broadcast; all cores together */
#include "qlinearmul_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearmul_bytes_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_binary.h"
#include "lanes.h"
#include "next_element.h"

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)

static inline int32_t multiply(const tw_qlinearmul_bytes_params *p, int32_t a, int32_t b, int even) {
  return tw_narrowed(&p->out, (a - p->a_zero) * (b - p->b_zero), even);
}

#if !TW_XPULP
TW_BYTE_BINARY_ROW(row_half_up, tw_qlinearmul_bytes_params, multiply, 0)
#endif
TW_BYTE_BINARY_ROW(row_half_even, tw_qlinearmul_bytes_params, multiply, 1)

#if TW_XPULP
#define TW_Y_SIGNED ((TW_Y)-1 < 0)
/* A dot product with all but one byte of a word cleared is the product of that byte. */
#define TW_A_PRODUCT(DOT, d, mask) "and " d ", %[a3], " mask "\n" DOT(d, d, "%[b0]")
#define TW_A_SCALE(d) "mul " d ", " d ", %[mul]\n"
#define TW_A_SHIFT(d) TW_A_R(TW_E_ADDN, d, "%[add]", "%[shift]")
#define TW_A_NARROW(d) TW_A_R(TW_E_CLIPU, d, d, "%[top]")
#define TW_A_SCALE_HIGH(d) TW_A_R(TW_E_MULSR16, d, d, "%[mul]")
#define TW_A_CLIP(d) TW_A_CLIP_BYTE(d, "%[top]")
#define TW_A_PRODUCTS(DOT)                                                                                          \
  TW_A_LW_STEP("%[a3]", "%[a]", "%[step_a]") TW_A_LW_STEP("%[b0]", "%[b]", "%[step_b]") "and %[a0], %[a3], %[m0]\n" \
  TW_A_PRODUCT(DOT, "%[a1]", "%[m1]") TW_A_PRODUCT(DOT, "%[a2]", "%[m2]") TW_A_PRODUCT(DOT, "%[a3]", "%[m3]")       \
  DOT("%[a0]", "%[a0]", "%[b0]")
#define TW_A_NARROWED                                                                                               \
  TW_A_FOUR(TW_A_SCALE, "%[a0]", "%[a1]", "%[a2]", "%[a3]") TW_A_FOUR(TW_A_SHIFT, "%[a0]", "%[a1]", "%[a2]", "%[a3]") \
  TW_A_FOUR(TW_A_NARROW, "%[a0]", "%[a1]", "%[a2]", "%[a3]") TW_A_PACK4("%[a0]", "%[a1]", "%[a2]", "%[a3]")         \
  TW_A_R(TW_E_ADD4, "%[a0]", "%[a0]", "%[low]")
#define TW_A_CLIPPED                                                                                                \
  TW_A_FOUR(TW_A_SCALE_HIGH, "%[a0]", "%[a1]", "%[a2]", "%[a3]") TW_A_FOUR(TW_A_CLIP, "%[a0]", "%[a1]", "%[a2]", "%[a3]") \
  TW_A_PACK4("%[a0]", "%[a1]", "%[a2]", "%[a3]")
/* FINISHED makes a word of the four products, in LINES instructions with what comes before and after it. */
#define TW_DEFINE_PRODUCTS(NAME, DOT, LINES, FINISHED, MUL, TOP)                                                    \
  static inline void NAME(const tw_qlinearmul_bytes_params *p, const void *a, int32_t step_a, const void *b,        \
                          int32_t step_b, void *y, int32_t words) {                                                 \
    int32_t a0, a1, a2, a3, b0;                                                                                     \
    __asm__ volatile(                                                                                               \
        TW_A_BEGIN TW_A_LOOP("%[words]", LINES) TW_A_PRODUCTS(DOT) FINISHED TW_A_SW("%[a0]", "%[y]", "4") TW_A_END  \
        : [a] "+r"(a), [b] "+r"(b), [y] "+r"(y), [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2), [a3] "=&r"(a3),    \
          [b0] "=&r"(b0)                                                                                            \
        : [words] "r"(words), [step_a] "r"(step_a), [step_b] "r"(step_b), [m0] "r"(0xff), [m1] "r"(0xff00),         \
          [m2] "r"(0xff0000), [m3] "r"(0xff000000u), [mul] "r"(MUL), [add] "r"(p->out.add),                         \
          [shift] "r"(p->out.shift), [top] "r"(TOP), [low] "r"(0x01010101u * (uint8_t)p->low),                      \
          [first] "i"(TW_I_FIRST(TW_A_SIGNED, TW_B_SIGNED)), [clip] "i"(TW_Y_SIGNED ? TW_I_CLIP : TW_I_CLIPU)       \
        : "memory");                                                                                                \
  }
TW_DEFINE_PRODUCTS(narrowed_in_order, TW_A_DOT_FIRST, 26, TW_A_NARROWED, p->out.mul, p->out.top)
TW_DEFINE_PRODUCTS(narrowed_swapped, TW_A_DOT_FIRST_SWAPPED, 26, TW_A_NARROWED, p->out.mul, p->out.top)
TW_DEFINE_PRODUCTS(clipped_in_order, TW_A_DOT_FIRST, 21, TW_A_CLIPPED, p->factor, TW_Y_SIGNED ? 127 : 255)
TW_DEFINE_PRODUCTS(clipped_swapped, TW_A_DOT_FIRST_SWAPPED, 21, TW_A_CLIPPED, p->factor, TW_Y_SIGNED ? 127 : 255)

static inline void products_of(const tw_qlinearmul_bytes_params *p, const void *a, int32_t step_a, const void *b,
                               int32_t step_b, void *y, int32_t words) {
  const int is_swapped = TW_A_SIGNED && !TW_B_SIGNED;
  if (p->factor) {
    (is_swapped ? clipped_swapped : clipped_in_order)(p, a, step_a, b, step_b, y, words);
  } else {
    (is_swapped ? narrowed_swapped : narrowed_in_order)(p, a, step_a, b, step_b, y, words);
  }
}

/* Without zero points, and ties go up. */
static __attribute__((noinline)) void row_of_products(const tw_qlinearmul_bytes_params *p, const TW_A *a, int32_t step_a,
                                                      const TW_B *b, int32_t step_b, TW_Y *y, int32_t count) {
  const int32_t words = count >> 2, done = 4 * words;
  if (words > 0 && (step_a & ~1) == 0 && (step_b & ~1) == 0) {
    const uint32_t all_a = 0x01010101u * (uint8_t)a[0], all_b = 0x01010101u * (uint8_t)b[0];
    const void *const from_a = step_a ? (const void *)a : &all_a, *const from_b = step_b ? (const void *)b : &all_b;
    products_of(p, from_a, 4 * step_a, from_b, 4 * step_b, y, words);
    a += done * step_a, b += done * step_b, y += done, count -= done;
  }
  for (; count > 0; count--, a += step_a, b += step_b) *y++ = (TW_Y)(multiply(p, *a, *b, 0) + p->low);
}

#define TW_A_NEXT(kind, d, at, step) ".insn r " TW_E_LOAD_STEP ", %[" kind "], " d ", " at ", " step "\n"
#define TW_A_NEXT_PAIR(a, b) TW_A_NEXT("kind_a", a, "%[a]", "%[step_a]") TW_A_NEXT("kind_b", b, "%[b]", "%[step_b]")
#define TW_A_ABOVE_ZEROS(a, b) "sub " a ", " a ", %[a_zero]\nsub " b ", " b ", %[b_zero]\n"
/* A product of halves, and that plus the factor less one times itself. */
#define TW_A_SCALED(a, b) TW_A_R(TW_E_MULS, a, a, b)
#define TW_A_TIMES(a) TW_A_R(TW_E_MAC, a, a, "%[less]")
#define TW_A_LOWEST(a) "add " a ", " a ", %[low]\n"
#define TW_A_STORE_BYTE(a) ".insn s 0x2b, 0, " a ", 1(%[y])\n"
#define TW_A_BOTH(DO) DO("%[a0]") DO("%[a1]")

/* With zero points, two elements at a time; ties go up. */
static __attribute__((noinline)) void row_with_zeros(const tw_qlinearmul_bytes_params *p, const TW_A *a, int32_t step_a,
                                                     const TW_B *b, int32_t step_b, TW_Y *y, int32_t count) {
  const int32_t pairs = count >> 1;
  int32_t a0, a1, b0, b1;
  if (pairs > 0) {
    __asm__ volatile(
        TW_A_BEGIN TW_A_LOOP("%[pairs]", 20) TW_A_NEXT_PAIR("%[a0]", "%[b0]") TW_A_NEXT_PAIR("%[a1]", "%[b1]")
        TW_A_ABOVE_ZEROS("%[a0]", "%[b0]") TW_A_ABOVE_ZEROS("%[a1]", "%[b1]") TW_A_SCALED("%[a0]", "%[b0]")
        TW_A_SCALED("%[a1]", "%[b1]") TW_A_BOTH(TW_A_TIMES) TW_A_BOTH(TW_A_SHIFT) TW_A_BOTH(TW_A_NARROW)
        TW_A_BOTH(TW_A_LOWEST) TW_A_BOTH(TW_A_STORE_BYTE) TW_A_END
        : [a] "+r"(a), [b] "+r"(b), [y] "+r"(y), [a0] "=&r"(a0), [a1] "=&r"(a1), [b0] "=&r"(b0), [b1] "=&r"(b1)
        : [pairs] "r"(pairs), [step_a] "r"(step_a), [step_b] "r"(step_b), [a_zero] "r"(p->a_zero), [b_zero] "r"(p->b_zero),
          [less] "r"(p->out.mul - 1), [add] "r"(p->out.add), [shift] "r"(p->out.shift), [top] "r"(p->out.top),
          [low] "r"(p->low), [kind_a] "i"(TW_I_LOAD_STEP(1, TW_A_SIGNED)), [kind_b] "i"(TW_I_LOAD_STEP(1, TW_B_SIGNED))
        : "memory");
  }
  if (count & 1) *y = (TW_Y)(multiply(p, *a, *b, 0) + p->low);
}
#else
#define row_of_products row_half_up
#define row_with_zeros row_half_up
#endif

void TW_NAME(const tw_qlinearmul_bytes_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const int has_zeros = params->a_zero || params->b_zero;
  void (*const one_row)(const tw_qlinearmul_bytes_params *, const TW_A *, int32_t, const TW_B *, int32_t, TW_Y *, int32_t) =
      params->out.even ? row_half_even : has_zeros ? row_with_zeros : row_of_products;
  TW_BINARY_ROWS(one_row, params, &params->loops, a, b, y);
}
