/* Many rows times columns of four bytes each, such as heads of an attention: a row is one word and so is a column. Four
 * columns stay in registers while the rows pass by. */
#ifndef TW_NAME
#define TW_NAME tw_gemm_k4
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
  static inline void NAME(tw_small_stream at, const uint32_t b[4], const tw_small_scale *s, int32_t rows) {      \
    int32_t a, t, u0, u1, u2, u3;                                                                                \
    __asm__ volatile(                                                                                            \
        TW_A_BEGIN TW_A_LOOP("%[rows]", 24) TW_A_LW_STEP("%[a]", "%[from]", "%[from_step]")                      \
        TW_A_SMALL_ONE(DOT, "%[u0]", "%[a]", "%[b0]") TW_A_SMALL_ONE(DOT, "%[u1]", "%[a]", "%[b1]")              \
        TW_A_SMALL_ONE(DOT, "%[u2]", "%[a]", "%[b2]") TW_A_SMALL_ONE(DOT, "%[u3]", "%[a]", "%[b3]")              \
        TW_A_SMALL_STORE TW_A_END                                                                                \
        : [from] "+r"(at.from), [to] "+r"(at.to), [a] "=&r"(a), [t] "=&r"(t), [u0] "=&r"(u0), [u1] "=&r"(u1),    \
          [u2] "=&r"(u2), [u3] "=&r"(u3)                                                                         \
        : [from_step] "r"(at.from_step), [to_step] "r"(at.to_step), [rows] "r"(rows), [b0] "r"(b[0]),            \
          [b1] "r"(b[1]), [b2] "r"(b[2]), [b3] "r"(b[3]), [mul] "r"(s->mul), [add] "r"(s->add),                  \
          [shift] "r"(s->shift), [high] "r"(s->high), [first] "i"(TW_I_FIRST(TW_A_SIGNED, TW_B_SIGNED)),         \
          [clip] "i"(TW_Y_SIGNED ? TW_I_CLIP : TW_I_CLIPU)                                                       \
        : "memory");                                                                                             \
  }
TW_DEFINE_PASS(pass_in_order, TW_A_DOT_FIRST)
TW_DEFINE_PASS(pass_swapped, TW_A_DOT_FIRST_SWAPPED)
#endif

static inline void pass(tw_small_stream at, const uint32_t b[4], const tw_small_scale *s, int32_t rows) {
#if TW_XPULP
  if (TW_A_SIGNED && !TW_B_SIGNED) {
    pass_swapped(at, b, s, rows);
  } else {
    pass_in_order(at, b, s, rows);
  }
#else
  for (; rows > 0; rows--, at.from += at.from_step, at.to += at.to_step) {
    const uint32_t word = tw_x_load(at.from), a[4] = {word, word, word, word};
    tw_small_four(s, a, b, at.to, TW_A_SIGNED, TW_B_SIGNED, TW_Y_SIGNED);
  }
#endif
}

/* Four neighbouring columns, one word each. */
static inline void load_columns(const tw_small_matmul_params *p, const TW_B *b, uint32_t columns[4]) {
  const int32_t step = p->b_row == 1 ? p->b_column : p->b_row;
  const uint32_t stored[4] = {tw_x_load(b), tw_x_load(b + step), tw_x_load(b + 2 * step), tw_x_load(b + 3 * step)};
  for (int f = 0; f < 4; f++) columns[f] = stored[f];
  if (p->b_row != 1) tw_transpose_4x4(stored, columns);
}

void TW_NAME(const tw_small_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y) {
  const tw_small_matmul_params *const p = params;
  tw_small_scale s;
  if (!tw_small_scale_set_safe(&s, p, mul, add)) {
    exactly(p, a, b, c, mul[0], add ? add[0] : 0, y);
    return;
  }
  /* Strips of four columns, and of those some or all rows; the last strip of a matrix may overlap the one before. */
  const int32_t strips = (p->columns + 3) >> 2, last = p->columns - 4, parts = p->parts;
  const tw_share share = tw_share_of(p->batches * strips * parts);
  int32_t part = share.first, strip = tw_small_split(&part, parts), batch = tw_small_split(&strip, strips);
  for (int32_t left = share.end - share.first; left > 0; left--) {
    const int32_t column = tw_x_min(4 * strip, last);
    const int32_t row = part * p->part_rows, end = tw_x_min(row + p->part_rows, p->rows);
    uint32_t columns[4];
    load_columns(p, b + batch * p->stride_b + column * p->b_column, columns);
    const tw_small_stream at = {(const uint8_t *)a + batch * p->stride_a + row * p->a_row, p->a_row,
                                (uint8_t *)y + batch * p->stride_y + row * p->y_row + column, p->y_row};
    pass(at, columns, &s, end - row);
    if (++part < parts) continue;
    part = 0;
    if (++strip < strips) continue;
    strip = 0;
    batch++;
  }
}
