/* Single rows of four bytes times many columns of four bytes, such as one token that looks back on others: the row stays
 * in a register while the columns pass by. */
#ifndef TW_NAME
#define TW_NAME tw_gemv_k4
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)

#include "small_words.h"

TW_DEFINE_SMALL_EXACTLY(TW_A, TW_B, TW_Y)

#if TW_XPULP
#define TW_DEFINE_PASS(NAME, DOT)                                                                                \
  static inline void NAME(tw_small_stream at, uint32_t a, const tw_small_scale *s, int32_t quads) {              \
    int32_t t, u0, u1, u2, u3;                                                                                   \
    __asm__ volatile(                                                                                            \
        TW_A_BEGIN TW_A_LOOP("%[quads]", 27) TW_A_LW("%[u0]", "%[from]", "4") TW_A_LW("%[u1]", "%[from]", "4")   \
        TW_A_LW("%[u2]", "%[from]", "4") TW_A_LW("%[u3]", "%[from]", "4")                                        \
        TW_A_SMALL_TURN(DOT, "%[u0]", "%[a]") TW_A_SMALL_TURN(DOT, "%[u1]", "%[a]")                              \
        TW_A_SMALL_TURN(DOT, "%[u2]", "%[a]") TW_A_SMALL_TURN(DOT, "%[u3]", "%[a]") TW_A_SMALL_STORE TW_A_END    \
        : [from] "+r"(at.from), [to] "+r"(at.to), [t] "=&r"(t), [u0] "=&r"(u0), [u1] "=&r"(u1),                  \
          [u2] "=&r"(u2), [u3] "=&r"(u3)                                                                         \
        : [to_step] "r"(at.to_step), [quads] "r"(quads), [a] "r"(a), [mul] "r"(s->mul), [add] "r"(s->add),       \
          [shift] "r"(s->shift), [high] "r"(s->high), [first] "i"(TW_I_FIRST(TW_A_SIGNED, TW_B_SIGNED)),         \
          [clip] "i"(TW_Y_SIGNED ? TW_I_CLIP : TW_I_CLIPU)                                                       \
        : "memory");                                                                                             \
  }
TW_DEFINE_PASS(pass_in_order, TW_A_DOT_FIRST)
TW_DEFINE_PASS(pass_swapped, TW_A_DOT_FIRST_SWAPPED)
#endif

static inline void pass(tw_small_stream at, uint32_t a, const tw_small_scale *s, int32_t quads) {
#if TW_XPULP
  if (TW_A_SIGNED && !TW_B_SIGNED) {
    pass_swapped(at, a, s, quads);
  } else {
    pass_in_order(at, a, s, quads);
  }
#else
  const uint32_t row[4] = {a, a, a, a};
  for (; quads > 0; quads--, at.from += 16, at.to += 4) {
    const uint32_t b[4] = {tw_x_load(at.from), tw_x_load(at.from + 4), tw_x_load(at.from + 8), tw_x_load(at.from + 12)};
    tw_small_four(s, row, b, at.to, TW_A_SIGNED, TW_B_SIGNED, TW_Y_SIGNED);
  }
#endif
}

void TW_NAME(const tw_small_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y) {
  const tw_small_matmul_params *const p = params;
  tw_small_scale s;
  if (!tw_small_scale_set_safe(&s, p, mul, add)) {
    exactly(p, a, b, c, mul[0], add ? add[0] : 0, y);
    return;
  }
  const tw_share share = tw_share_of(p->batches * p->rows);
  int32_t row = share.first, batch = tw_small_split(&row, p->rows);
  for (int32_t left = share.end - share.first; left > 0; left--) {
    const uint32_t word = tw_x_load(a + batch * p->stride_a + row * p->a_row);
    tw_small_stream at = {(const uint8_t *)(b + batch * p->stride_b), 16,
                          (uint8_t *)(y + batch * p->stride_y + row * p->y_row), 4};
    /* Columns that are no whole four come last, together with some of those before them. */
    for (int32_t columns = p->columns; columns > 0; columns &= 3) {
      if (columns < 4) {
        at.from = (const uint8_t *)(b + batch * p->stride_b) + 4 * (p->columns - 4);
        at.to = (uint8_t *)(y + batch * p->stride_y + row * p->y_row) + p->columns - 4;
        columns = 4;
      }
      pass(at, word, &s, columns >> 2);
    }
    if (++row < p->rows) continue;
    row = 0;
    batch++;
  }
}
