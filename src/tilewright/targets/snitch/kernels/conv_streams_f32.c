/* Convolution of floats with channels as the second axis; all cores together. Results of a group are rows of a product,
 * filters its columns. */
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_streams_f32
#endif

#include "float_copies.h"
#include "stream_sums.h"
#include "window_copy.h"

enum { COPYING = 16 };

#define BITS(element) (element)
TW_DEFINE_COPY_WINDOW(uint32_t, BITS)

static void tw_copy_run_of(const tw_sums *k, int32_t row, int32_t first, int32_t count, uint64_t *to) {
  const tw_conv_params *const p = k->p;
  if (!tw_is_point(p)) {
    tw_copy_window(p, k->a, 0, row, first, count, to);
    return;
  }
  const tw_place at = tw_place_of(p, row, 0);
  const int32_t plane = p->in_h * p->in_w;
  tw_copy_row_twice((const uint32_t *)k->a + at.top * p->in_w + at.left + first * plane, plane, count, to);
}

/* Filters are rows of w, and become columns; what sums begin with is a row too. Their bits are moved by the integer core. */
static void turn_filters(const tw_conv_params *p, int32_t inner, const uint32_t *filters, const uint32_t *bias, uint32_t *begin,
                         int32_t width) {
  const tw_share rows = tw_share_of(inner), columns = tw_share_of(width);
  uint32_t *const turned = begin + width;
  for (int32_t i = columns.first; i < columns.end; i++) begin[i] = bias && i < p->out_channels ? bias[i * p->bias_step] : 0;
  for (int32_t row = rows.first; row < rows.end; row++) {
    uint32_t *const to = turned + row * width;
    tw_copy_apart(filters + row, inner, to, 1, p->out_channels);
    if (p->out_channels & 1) to[p->out_channels] = 0;
  }
}

/* This core's part: the planes of filters lie one behind the other. */
static void place(const tw_conv_params *p, const tw_sums *k, uint32_t *y) {
  const int32_t plane = p->out_h * p->out_w, first = k->columns.first, count = tw_min(k->columns.end, p->out_channels) - first;
  for (int32_t row = k->rows.first; row < k->rows.end; row++) {
    const uint32_t *from = (const uint32_t *)k->y + row * k->y_row + first;
    tw_copy_apart(from, 1, y + first * plane + row, plane, count);
  }
}

void TW_NAME(const tw_conv_params *params, const float *x, const float *filters, const float *b, float *y, void *scratch) {
  const tw_conv_params *const p = params;
  const int32_t pixels = p->out_h * p->out_w, inner = tw_conv_inner(p);
  const int32_t width = tw_even(p->out_channels);
  float *const begin = scratch, *const turned = begin + width, *const sums = turned + inner * width;
  tw_sums k = {.p = p, .b = turned, .b_row = width, .begin = begin, .y = sums, .y_row = width, .inner = inner,
               .is_positive = p->activation.kind};
  tw_sums_copies(&k, inner, sums + pixels * width);
  tw_sums_cut(&k, pixels, width, COPYING);
  for (int32_t group = 0; group < p->groups; group++) {
    const int32_t filter = group * p->out_channels;
    const float *const bias = b ? b + filter * p->bias_step : 0;
    tw_barrier();
    turn_filters(p, inner, (const uint32_t *)filters + filter * inner, (const uint32_t *)bias, (uint32_t *)begin, width);
    tw_barrier();
    for (int32_t image = 0; image < p->batch; image++) {
      const int32_t which = image * p->groups + group;
      k.a = x + which * p->in_channels * p->in_h * p->in_w;
      tw_sum_up(&k);
      place(p, &k, (uint32_t *)y + which * p->out_channels * pixels);
    }
  }
}
