/* Single rows times matrices of bytes that are stored row by row, such as one token's sum of others' values: four rows of
 * four columns are transposed in registers on their way. All results are requantised alike. */
#ifndef TW_NAME
#define TW_NAME tw_gemv_b_rowmajor
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)

#include "dot.h"
#include "pack8.h"
#include "small_matmul.h"

TW_DEFINE_SMALL_EXACTLY(TW_A, TW_B, TW_Y)

#if TW_XPULP

#define TW_A_SHUFFLE2(d, a, select) TW_A_R(TW_E_SHUFFLE2_4, d, a, select)
/* d and a become the first and the second half of what they have in turns; `spare` gets the first. */
#define TW_A_UNZIP(spare, d, a, low, high) "mv " spare ", " d "\n" TW_A_SHUFFLE2(spare, a, low) TW_A_SHUFFLE2(d, a, high)

#define TW_DEFINE_QUADS(NAME, DOT)                                                                                     \
  static inline void NAME(const uint8_t **a, const uint8_t **b, int32_t step, int32_t quads, int32_t t[4]) {           \
    int32_t row, b0, b1, b2, b3, x, z;                                                                                 \
    __asm__ volatile(                                                                                                  \
        TW_A_BEGIN TW_A_LOOP("%[quads]", 21) TW_A_LW_STEP("%[b0]", "%[b]", "%[step]")                                  \
        TW_A_LW_STEP("%[b1]", "%[b]", "%[step]") TW_A_LW_STEP("%[b2]", "%[b]", "%[step]")                              \
        TW_A_LW_STEP("%[b3]", "%[b]", "%[step]") TW_A_LW("%[row]", "%[a]", "4")                                        \
        TW_A_UNZIP("%[x]", "%[b0]", "%[b1]", "%[low]", "%[high]")                                                      \
        TW_A_UNZIP("%[z]", "%[b2]", "%[b3]", "%[low]", "%[high]")                                                      \
        TW_A_UNZIP("%[b1]", "%[x]", "%[z]", "%[front]", "%[rear]")                                                     \
        TW_A_UNZIP("%[b3]", "%[b0]", "%[b2]", "%[front]", "%[rear]")                                                   \
        DOT("%[t0]", "%[row]", "%[b1]") DOT("%[t1]", "%[row]", "%[x]")                                                 \
        DOT("%[t2]", "%[row]", "%[b3]") DOT("%[t3]", "%[row]", "%[b0]") TW_A_END                                       \
        : [a] "+r"(*a), [b] "+r"(*b), [t0] "+r"(t[0]), [t1] "+r"(t[1]), [t2] "+r"(t[2]), [t3] "+r"(t[3]),              \
          [row] "=&r"(row), [b0] "=&r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3), [x] "=&r"(x), [z] "=&r"(z) \
        : [step] "r"(step), [quads] "r"(quads), [low] "r"(TW_ZIP_LOW), [high] "r"(TW_ZIP_HIGH),                        \
          [front] "r"(TW_ZIP_FRONT), [rear] "r"(TW_ZIP_REAR),                                                          \
          [dot] "i"(TW_I_DOT(TW_A_SIGNED, TW_B_SIGNED))                                                                \
        : "memory");                                                                                                   \
  }
TW_DEFINE_QUADS(quads_in_order, TW_A_DOT)
TW_DEFINE_QUADS(quads_swapped, TW_A_DOT_SWAPPED)

#endif

/* total[f] += some elements of a, four at a time, times column f of b; both move on. */
static inline void quads(const uint8_t **a, const uint8_t **b, int32_t step, int32_t count, int32_t total[4]) {
#if TW_XPULP
  if (TW_A_SIGNED && !TW_B_SIGNED) {
    quads_swapped(a, b, step, count, total);
  } else {
    quads_in_order(a, b, step, count, total);
  }
#else
  for (; count > 0; count--, *a += 4, *b += 4 * step) {
    const uint32_t rows[4] = {tw_x_load(*b), tw_x_load(*b + step), tw_x_load(*b + 2 * step), tw_x_load(*b + 3 * step)};
    uint32_t columns[4];
    tw_transpose_4x4(rows, columns);
    for (int f = 0; f < 4; f++) total[f] = tw_dot(total[f], tw_x_load(*a), columns[f], TW_A_SIGNED, TW_B_SIGNED);
  }
#endif
}

void TW_NAME(const tw_small_matmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y) {
  const tw_small_matmul_params *const p = params;
  tw_small_scale s;
  if (!tw_small_scale_set(&s, p, mul, add)) {
    exactly(p, a, b, c, mul[0], add ? add[0] : 0, y);
    return;
  }
  /* Strips of four columns of a row; the last one may overlap the one before. */
  const int32_t strips = (p->columns + 3) >> 2, last = p->columns - 4, step = p->b_row;
  const tw_share share = tw_share_of(p->batches * p->rows * strips);
  int32_t strip = share.first, row = tw_small_split(&strip, strips), batch = tw_small_split(&row, p->rows);
  for (int32_t left = share.end - share.first; left > 0; left--) {
    const int32_t column = tw_x_min(4 * strip, last);
    const uint8_t *from_a = (const uint8_t *)(a + batch * p->stride_a + row * p->a_row);
    const uint8_t *from_b = (const uint8_t *)(b + batch * p->stride_b + column);
    int32_t total[4] = {0, 0, 0, 0};
    if (c) {
      for (int f = 0; f < 4; f++) total[f] = c[batch * p->stride_c + column + f];
    }
    quads(&from_a, &from_b, step, p->inner >> 2, total);
    for (int32_t rest = p->inner & 3; rest > 0; rest--, from_a++, from_b += step) {
      const int32_t factor = *(const TW_A *)from_a;
      for (int f = 0; f < 4; f++) total[f] = tw_x_mac(total[f], factor, ((const TW_B *)from_b)[f]);
    }
    for (int f = 0; f < 4; f++) total[f] = tw_small_finish_clipped(&s, total[f], TW_Y_SIGNED);
    tw_x_store(y + batch * p->stride_y + row * p->y_row + column, tw_x_pack4(total[0], total[1], total[2], total[3]));
    if (++strip < strips) continue;
    strip = 0;
    if (++row < p->rows) continue;
    row = 0;
    batch++;
  }
}
