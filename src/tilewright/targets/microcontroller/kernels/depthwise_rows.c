/* Convolution of bytes, channels second, where each group has one input channel. The rows of a channel that some rows
 * of results read are copied with their padding; windows of 3 x 3 slide along them in registers. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_rows
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#include "depthwise_bands.h"

/* The window whose columns are a, b and c. Compilers would take its products apart, and run out of registers. */
#ifdef __riscv_mul
#define WINDOW(sum, a, b, c)                                                                                   \
  do {                                                                                                         \
    int32_t product_;                                                                                          \
    __asm__ volatile(                                                                                          \
        "mul %1, %2, %11\n\tadd %0, %20, %1\n\tmul %1, %3, %12\n\tadd %0, %0, %1\n\tmul %1, %4, %13\n\t"     \
        "add %0, %0, %1\n\tmul %1, %5, %14\n\tadd %0, %0, %1\n\tmul %1, %6, %15\n\tadd %0, %0, %1\n\t"       \
        "mul %1, %7, %16\n\tadd %0, %0, %1\n\tmul %1, %8, %17\n\tadd %0, %0, %1\n\tmul %1, %9, %18\n\t"      \
        "add %0, %0, %1\n\tmul %1, %10, %19\n\tadd %0, %0, %1"                                                \
        : "=&r"(sum), "=&r"(product_)                                                                          \
        : "r"(w00), "r"(w10), "r"(w20), "r"(w01), "r"(w11), "r"(w21), "r"(w02), "r"(w12), "r"(w22), "r"(a##0), \
          "r"(a##1), "r"(a##2), "r"(b##0), "r"(b##1), "r"(b##2), "r"(c##0), "r"(c##1), "r"(c##2), "r"(start)); \
  } while (0)
#else
#define WINDOW(sum, a, b, c)                                                                                        \
  ((sum) = start + w00 * a##0 + w10 * a##1 + w20 * a##2 + w01 * b##0 + w11 * b##1 + w21 * b##2 + w02 * c##0 +       \
           w12 * c##1 + w22 * c##2)
#endif

/* A column of three elements. */
#define COLUMN(name, at) name##0 = top[at], name##1 = middle[at], name##2 = bottom[at]

#define WEIGHTS                                                              \
  const int32_t w00 = w[0], w01 = w[1], w02 = w[2];                          \
  const int32_t w10 = w[3], w11 = w[4], w12 = w[5];                          \
  const int32_t w20 = w[6], w21 = w[7], w22 = w[8]

/* Totals of windows one element apart: three columns are in registers, each new one in the place of the oldest. */
static __attribute__((noinline)) void rows_3x3(windows all, const int32_t *w, int32_t start, int32_t *total) {
  WEIGHTS;
  for (; all.rows > 0; all.rows--, all.from += all.step) {
    const TW_X *top = all.from, *middle = top + all.pitch, *bottom = middle + all.pitch;
    const int32_t *const whole = total + all.columns / 3 * 3, *const end = total + all.columns;
    int32_t a0, a1, a2, b0, b1, b2, c0, c1, c2, sum;
    COLUMN(a, 0);
    COLUMN(b, 1);
    while (total != whole) {
      COLUMN(c, 2);
      WINDOW(sum, a, b, c);
      total[0] = sum;
      COLUMN(a, 3);
      WINDOW(sum, b, c, a);
      total[1] = sum;
      COLUMN(b, 4);
      WINDOW(sum, c, a, b);
      total[2] = sum;
      top += 3, middle += 3, bottom += 3, total += 3;
    }
    for (; total != end; total++, top++, middle++, bottom++) {
      COLUMN(c, 2);
      WINDOW(sum, a, b, c);
      *total = sum;
      a0 = b0, a1 = b1, a2 = b2, b0 = c0, b1 = c1, b2 = c2;
    }
  }
}

/* The same, two elements apart: one column of three stays. */
static __attribute__((noinline)) void rows_3x3_by_2(windows all, const int32_t *w, int32_t start, int32_t *total) {
  WEIGHTS;
  for (; all.rows > 0; all.rows--, all.from += all.step) {
    const TW_X *top = all.from, *middle = top + all.pitch, *bottom = middle + all.pitch;
    const int32_t *const whole = total + (all.columns & ~1);
    int32_t a0, a1, a2, b0, b1, b2, c0, c1, c2, sum;
    COLUMN(a, 0);
    while (total != whole) {
      COLUMN(b, 1);
      COLUMN(c, 2);
      WINDOW(sum, a, b, c);
      total[0] = sum;
      COLUMN(b, 3);
      COLUMN(a, 4);
      WINDOW(sum, c, b, a);
      total[1] = sum;
      top += 4, middle += 4, bottom += 4, total += 2;
    }
    if (all.columns & 1) {
      COLUMN(b, 1);
      COLUMN(c, 2);
      WINDOW(sum, a, b, c);
      *total++ = sum;
    }
  }
}

/* Any window. */
static void rows_of_any(const tw_conv_params *p, windows all, const int32_t *w, int32_t start, int32_t *total) {
  for (; all.rows > 0; all.rows--, all.from += all.step) {
    const TW_X *x = all.from;
    for (int32_t i = 0; i < all.columns; i++, x += p->stride_w) {
      int32_t sum = start;
      for (int32_t r = 0; r < p->kernel_h; r++) {
        const TW_X *from = x + r * p->dilation_h * all.pitch;
        const int32_t *weight = w + r * p->kernel_w;
        for (int32_t s = 0; s < p->kernel_w; s++, from += p->dilation_w) sum += *from * weight[s];
      }
      *total++ = sum;
    }
  }
}

#ifdef __riscv_vector
#include "depthwise_lanes.h"
#endif

/* Totals of one filter from the band of its channel. */
static void filter_on_band(const tw_conv_params *p, windows all, const int32_t *w, int32_t start, int32_t *total) {
  const int is_3x3 = p->kernel_h == 3 && p->kernel_w == 3 && p->dilation_h == 1 && p->dilation_w == 1;
#ifdef __riscv_vector
  rows_by_lanes(p, all, is_3x3, w, start, total);
  return;
#endif
  if (is_3x3 && p->stride_w == 1) {
    rows_3x3(all, w, start, total);
  } else if (is_3x3 && p->stride_w == 2) {
    rows_3x3_by_2(all, w, start, total);
  } else {
    rows_of_any(p, all, w, start, total);
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  tw_on_bands(params, tw_band_lead(params), filter_on_band, x, w, b, mul, add, y, scratch);
}
