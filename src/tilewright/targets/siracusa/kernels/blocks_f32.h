/* Four rows of floats meet four others: total[r * 4 + f] += sum of a[r][i] * b[f][i]. */
#ifndef TW_BLOCKS_F32_H
#define TW_BLOCKS_F32_H

#include <stdint.h>

#define TW_ROW_F32(r, x) t##r##0 += x * y0, t##r##1 += x * y1, t##r##2 += x * y2, t##r##3 += x * y3
#define TW_STEP_F32(at_a, at_b)                                                                  \
  do {                                                                                           \
    const float y0 = b0[at_b], y1 = b1[at_b], y2 = b2[at_b], y3 = b3[at_b];                      \
    const float x0 = a0[at_a], x1 = a1[at_a], x2 = a2[at_a], x3 = a3[at_a];                      \
    TW_ROW_F32(0, x0);                                                                           \
    TW_ROW_F32(1, x1);                                                                           \
    TW_ROW_F32(2, x2);                                                                           \
    TW_ROW_F32(3, x3);                                                                           \
  } while (0)

/* Elements of a row are a_step apart, those of b b_step. */
static __attribute__((noinline)) void tw_block_f32(const float *const a[4], int32_t a_step, const float *const b[4],
                                                   int32_t b_step, int32_t count, float total[16]) {
  const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3], *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
  float t00 = total[0], t01 = total[1], t02 = total[2], t03 = total[3], t10 = total[4], t11 = total[5];
  float t12 = total[6], t13 = total[7], t20 = total[8], t21 = total[9], t22 = total[10], t23 = total[11];
  float t30 = total[12], t31 = total[13], t32 = total[14], t33 = total[15];
  if (a_step == 1 && b_step == 1) {
    for (; count >= 2; count -= 2) {
      TW_STEP_F32(0, 0);
      TW_STEP_F32(1, 1);
      a0 += 2, a1 += 2, a2 += 2, a3 += 2, b0 += 2, b1 += 2, b2 += 2, b3 += 2;
    }
  }
  for (; count > 0; count--) {
    TW_STEP_F32(0, 0);
    a0 += a_step, a1 += a_step, a2 += a_step, a3 += a_step;
    b0 += b_step, b1 += b_step, b2 += b_step, b3 += b_step;
  }
  total[0] = t00, total[1] = t01, total[2] = t02, total[3] = t03, total[4] = t10, total[5] = t11;
  total[6] = t12, total[7] = t13, total[8] = t20, total[9] = t21, total[10] = t22, total[11] = t23;
  total[12] = t30, total[13] = t31, total[14] = t32, total[15] = t33;
}

#endif
