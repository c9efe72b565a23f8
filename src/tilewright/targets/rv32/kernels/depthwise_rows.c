/* Convolution of bytes, channels second, where each group has one input channel. The rows of a channel that some rows of
 * results read are copied with their padding; windows of 3 x 3 slide along them in registers. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_rows
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#include "conv.h"
#include "requant_row.h"
#include "row_copy.h"

/* A column of three elements. */
#define COLUMN(name, at) const int32_t name##0 = top[at], name##1 = middle[at], name##2 = bottom[at]
/* The window whose columns are a, b and c. */
#define WINDOW(a, b, c)                                                                                       \
  (start + w00 * a##0 + w10 * a##1 + w20 * a##2 + w01 * b##0 + w11 * b##1 + w21 * b##2 + w02 * c##0 + w12 * c##1 + \
   w22 * c##2)

#define WEIGHTS                                                              \
  const int32_t w00 = w[0], w01 = w[1], w02 = w[2];                          \
  const int32_t w10 = w[3], w11 = w[4], w12 = w[5];                          \
  const int32_t w20 = w[6], w21 = w[7], w22 = w[8]

/* A row of totals, one element apart: three columns are in registers, and each new one takes the place of the oldest. */
static void row_3x3(const TW_X *top, int32_t pitch, const int32_t *w, int32_t start, int32_t count, int32_t *total) {
  const TW_X *middle = top + pitch, *bottom = middle + pitch;
  WEIGHTS;
  int32_t a0 = top[0], a1 = middle[0], a2 = bottom[0], b0 = top[1], b1 = middle[1], b2 = bottom[1], c0, c1, c2;
  const int32_t *const whole = total + count / 3 * 3, *const end = total + count;
  while (total != whole) {
    c0 = top[2], c1 = middle[2], c2 = bottom[2];
    total[0] = WINDOW(a, b, c);
    a0 = top[3], a1 = middle[3], a2 = bottom[3];
    total[1] = WINDOW(b, c, a);
    b0 = top[4], b1 = middle[4], b2 = bottom[4];
    total[2] = WINDOW(c, a, b);
    top += 3, middle += 3, bottom += 3, total += 3;
  }
  for (; total != end; total++, top++, middle++, bottom++) {
    c0 = top[2], c1 = middle[2], c2 = bottom[2];
    *total = WINDOW(a, b, c);
    a0 = b0, a1 = b1, a2 = b2, b0 = c0, b1 = c1, b2 = c2;
  }
}

/* The same, two elements apart: one column of three stays. */
static void row_3x3_by_2(const TW_X *top, int32_t pitch, const int32_t *w, int32_t start, int32_t count, int32_t *total) {
  const TW_X *middle = top + pitch, *bottom = middle + pitch;
  WEIGHTS;
  int32_t a0 = top[0], a1 = middle[0], a2 = bottom[0];
  for (const int32_t *const end = total + count; total != end; total++, top += 2, middle += 2, bottom += 2) {
    COLUMN(b, 1);
    COLUMN(c, 2);
    *total = WINDOW(a, b, c);
    a0 = c0, a1 = c1, a2 = c2;
  }
}

/* Any window. */
static void row_of_any(const tw_conv_params *p, const TW_X *x, int32_t pitch, const int32_t *w, int32_t start,
                       int32_t *total) {
  for (int32_t i = 0; i < p->out_w; i++, x += p->stride_w) {
    int32_t sum = start;
    for (int32_t r = 0; r < p->kernel_h; r++) {
      const TW_X *from = x + r * p->dilation_h * pitch;
      const int32_t *weight = w + r * p->kernel_w;
      for (int32_t s = 0; s < p->kernel_w; s++, from += p->dilation_w) sum += *from * weight[s];
    }
    total[i] = sum;
  }
}

/* Weights without their zero point, and the total before the first product: the bias with what the zero point of x
 * adds. */
static int32_t prepare(const tw_conv_params *p, const TW_W *w, int32_t bias, int32_t *weight) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < p->kernel_h * p->kernel_w; i++) {
    weight[i] = w[i] - p->w_zero;
    sum += (uint32_t)weight[i];
  }
  return (int32_t)((uint32_t)bias - sum * (uint32_t)p->x_zero);
}

/* Rows of one filter from the band of its channel. */
static void filter_on_band(const tw_conv_params *p, const TW_X *band, int32_t pitch, const int32_t *w, int32_t start,
                           tw_way way, const tw_factor *factor, int32_t rows, int32_t *total, TW_Y *y) {
  const int is_3x3 = p->kernel_h == 3 && p->kernel_w == 3 && p->dilation_h == 1 && p->dilation_w == 1;
  const tw_requant requant = p->requant;
  const tw_factor own = *factor;
  for (int32_t row = 0; row < rows; row++, band += p->stride_h * pitch) {
    if (is_3x3 && p->stride_w == 1) {
      row_3x3(band, pitch, w, start, p->out_w, total);
    } else if (is_3x3 && p->stride_w == 2) {
      row_3x3_by_2(band, pitch, w, start, p->out_w, total);
    } else {
      row_of_any(p, band, pitch, w, start, total);
    }
    int32_t i = 0;
    for (; i + 4 <= p->out_w; i += 4, y += 4) tw_requantise_row(way, &requant, &own, total + i, y, 4);
    for (; i < p->out_w; i++, y++) tw_requantise_row(way, &requant, &own, total + i, y, 1);
  }
}

/* Whether totals that begin so stay below 2^30: products of bytes are below 2^16. */
static int stays_small(const tw_conv_params *p, int32_t start) {
  return p->kernel_h * p->kernel_w < 1 << 13 && start < 1 << 29 && start > -(1 << 29);
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = params;
  const int32_t taps = p->kernel_h * p->kernel_w, filters = p->out_channels, plane = p->out_h * p->out_w;
  const int32_t pitch = tw_band_pitch(p);
  const tw_way small = tw_way_of(p->requantised, &p->requant, add, p->add_step, filters * p->groups, 1);
  const tw_way large = p->requantised ? TW_ANY_WAY : TW_AS_IS;
  int32_t *const total = scratch, *const weight = total + p->out_w;
  TW_X *const band = (TW_X *)(weight + taps) + tw_band_lead(p);
  for (int32_t n = 0; n < p->batch * p->groups; n++, x += p->in_h * p->in_w) {
    for (int32_t out_y = 0; out_y < p->out_h; out_y += p->chunk) {
      const int32_t rows = tw_min(p->chunk, p->out_h - out_y);
      const int32_t in_rows = (rows - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
      const int32_t in_y = out_y * p->stride_h - p->pad_top;
      for (int32_t r = 0; r < in_rows; r++) tw_padded_row(p, x, in_y + r, pitch, band + r * pitch);
      for (int32_t f = 0; f < filters; f++) {
        const int32_t filter = n % p->groups * filters + f;
        const int32_t start = prepare(p, w + filter * taps, tw_conv_bias(p, b, filter), weight);
        const tw_way way = stays_small(p, start) ? small : large;
        const int32_t factor = mul ? mul[filter * p->mul_step] : 0, summand = add ? add[filter * p->add_step] : 0;
        const tw_factor own = tw_factor_of(way, &p->requant, factor, summand);
        TW_Y *const to = y + (n * filters + f) * plane + out_y * p->out_w;
        filter_on_band(p, band, pitch, weight, start, way, &own, rows, total, to);
      }
    }
  }
}
