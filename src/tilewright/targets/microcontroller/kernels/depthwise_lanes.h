/* Windows of depthwise_rows.c where there are vectors: lanes are neighbouring results, of several rows if these are short
 * and lie one behind the other. */
#ifndef TW_DEPTHWISE_LANES_H
#define TW_DEPTHWISE_LANES_H

#include "sum_lanes.h"

/* Totals of as many windows as there are lanes. With constant sizes there are no loops over taps. */
TW_ALWAYS void one_span(const TW_X *x, int32_t pitch, int32_t dilation, int32_t height, int32_t width, int32_t stride,
                        const int32_t *w, int32_t start, int32_t *total, size_t vl) {
  vint32m4_t sum = __riscv_vmv_v_x_i32m4(start, vl);
  for (int32_t r = 0; r < height; r++, x += pitch, w += width) {
    for (int32_t s = 0; s < width; s++) {
      sum = __riscv_vwmacc_vx_i32m4(sum, (int16_t)w[s], tw_lanes_load(x + s * dilation, stride, vl), vl);
    }
  }
  __riscv_vse32_v_i32m4(total, sum, vl);
}

static __attribute__((noinline)) void span_3x3(const TW_X *x, int32_t pitch, const int32_t *w, int32_t start,
                                               int32_t *total, int32_t count) {
  for (size_t vl; count > 0; x += vl, total += vl, count -= (int32_t)vl) {
    vl = __riscv_vsetvl_e32m4((size_t)count);
    one_span(x, pitch, 1, 3, 3, 1, w, start, total, vl);
  }
}

static __attribute__((noinline)) void span_of_any(const tw_conv_params *p, const TW_X *x, int32_t pitch,
                                                  const int32_t *w, int32_t start, int32_t *total, int32_t count) {
  for (size_t vl; count > 0; x += (int32_t)vl * p->stride_w, total += vl, count -= (int32_t)vl) {
    vl = __riscv_vsetvl_e32m4((size_t)count);
    const int32_t step = p->dilation_h * pitch;
    if (p->stride_w == 1) {
      one_span(x, step, p->dilation_w, p->kernel_h, p->kernel_w, 1, w, start, total, vl);
    } else {
      one_span(x, step, p->dilation_w, p->kernel_h, p->kernel_w, p->stride_w, w, start, total, vl);
    }
  }
}

static void span(const tw_conv_params *p, int is_3x3, const TW_X *x, int32_t pitch, const int32_t *w, int32_t start,
                 int32_t *total, int32_t count) {
  if (is_3x3 && p->stride_w == 1) {
    span_3x3(x, pitch, w, start, total, count);
  } else {
    span_of_any(p, x, pitch, w, start, total, count);
  }
}

/* The first totals of each of some rows that lie `pitch` apart. */
static void take_rows(const int32_t *from, int32_t pitch, int32_t columns, int32_t rows, int32_t *total) {
  for (; rows > 0; rows--, from += pitch, total += columns) {
    const size_t vl = __riscv_vsetvl_e32m4((size_t)columns); /* fewer than lanes: rows are short */
    __riscv_vse32_v_i32m4(total, __riscv_vle32_v_i32m4(from, vl), vl);
  }
}

/* Rows of results from rows of the band one behind the other: windows between their ends are computed for nothing. */
static void short_rows(const tw_conv_params *p, windows all, int is_3x3, const int32_t *w, int32_t start, int32_t *total) {
  int32_t own[TW_MOST_LANES];
  const int32_t most = TW_MOST_LANES / all.pitch;
  for (int32_t rows; all.rows > 0; all.rows -= rows, all.from += rows * all.pitch, total += rows * all.columns) {
    rows = tw_min(most, all.rows);
    span(p, is_3x3, all.from, all.pitch, w, start, own, (rows - 1) * all.pitch + all.columns);
    take_rows(own, all.pitch, all.columns, rows, total);
  }
}

static void rows_by_lanes(const tw_conv_params *p, windows all, int is_3x3, const int32_t *w, int32_t start, int32_t *total) {
  const int32_t lanes = (int32_t)__riscv_vsetvlmax_e32m4();
  if (p->stride_w == 1 && p->stride_h == 1 && all.columns < lanes && 2 * all.pitch <= TW_MOST_LANES) {
    short_rows(p, all, is_3x3, w, start, total);
    return;
  }
  for (; all.rows > 0; all.rows--, all.from += all.step, total += all.columns) {
    span(p, is_3x3, all.from, all.pitch, w, start, total, all.columns);
  }
}

#endif
