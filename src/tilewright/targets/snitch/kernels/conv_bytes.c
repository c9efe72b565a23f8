/* Convolution of bytes with channels as the second axis; int32 totals, optionally requantised; all cores together.
 * Results of a group are rows of a product, filters its columns. */
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_bytes
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#include "byte_products.h"
#include "window_copy.h"

enum { X_IS_SIGNED = (TW_X)-1 < 0, W_IS_SIGNED = (TW_W)-1 < 0, COPYING = 16 };

#define BITS(element) table[element]
TW_DEFINE_COPY_WINDOW(uint8_t, BITS)

typedef struct {
  const tw_conv_params *p;
  tw_byte_rooms rooms;
} work;

/* Filters are rows of w, and become columns. */
static void convert_filters(const work *w, const TW_W *filters) {
  const tw_byte_rooms *const r = &w->rooms;
  const tw_share rows = tw_share_of(r->inner);
  const int32_t columns = w->p->out_channels;
  for (int32_t row = rows.first; row < rows.end; row++) {
    uint32_t *const to = (uint32_t *)r->b + row * r->width;
    tw_make_floats((const uint8_t *)filters + row, r->inner, columns, (const uint32_t *)r->right, to);
    if (columns & 1) to[columns] = 0;
  }
}

static void tw_copy_run_of(const tw_sums *k, int32_t row, int32_t first, int32_t count, uint64_t *to) {
  const work *const w = k->p;
  const tw_conv_params *const p = w->p;
  const uint32_t *const table = (const uint32_t *)w->rooms.left;
  if (!tw_is_point(p)) {
    tw_copy_window(p, k->a, table, row, k->before + first, count, to);
    return;
  }
  const tw_place at = tw_place_of(p, row, 0);
  const int32_t plane = p->in_h * p->in_w;
  tw_copy_bytes((const uint8_t *)k->a + at.top * p->in_w + at.left + (k->before + first) * plane, plane, count, table, to);
}

/* Results of this core's part of a group: the planes of filters lie one behind the other. */
static void finish(const work *w, const tw_sums *k, int32_t group, const int32_t *bias, const int32_t *mul, const int32_t *add,
                   TW_Y *y) {
  const int32_t none = 0;
  const tw_conv_params *const p = w->p;
  const int32_t *const totals = tw_totals(&w->rooms);
  const int32_t origin = tw_origin(&w->rooms), width = w->rooms.width, plane = p->out_h * p->out_w;
  const int32_t first = k->columns.first, count = tw_min(k->columns.end, p->out_channels) - first;
  const int32_t filter = group * p->out_channels + first;
  const int32_t bias_step = bias ? p->bias_step : 0, add_step = add ? p->add_step : 0;
  bias = bias ? bias + filter * bias_step : &none;
  add = add ? add + filter * add_step : &none;
  for (int32_t row = k->rows.first; row < k->rows.end; row++) {
    const int32_t *const from = totals + row * width + first;
    TW_Y *const to = y + first * plane + row;
    if (p->requantised) {
      const tw_scales s = {bias, mul + filter * p->mul_step, add, bias_step, p->mul_step, add_step};
      tw_scaled_row(from, origin, &s, &p->requant, to, plane, count);
    } else {
      tw_plain_row(from, origin, bias, bias_step, to, plane, count);
    }
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *filters, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = params;
  const int32_t pixels = p->out_h * p->out_w, inner = tw_conv_inner(p);
  const int32_t largest = (int32_t)tw_largest_of_conv(p, X_IS_SIGNED, W_IS_SIGNED);
  const work w = {p, tw_byte_rooms_in(scratch, pixels, inner, p->out_channels, largest)};
  const tw_byte_rooms *const r = &w.rooms;
  tw_sums k = {.p = &w, .b_row = r->width, .begin = r->origins, .y = r->sums, .y_row = r->width};
  tw_sums_cut(&k, pixels, r->width, COPYING);
  tw_fill_table(r->left, X_IS_SIGNED, p->x_zero);
  tw_fill_table(r->right, W_IS_SIGNED, p->w_zero);
  tw_fill_origins(r);
  for (int32_t group = 0; group < p->groups; group++) {
    tw_barrier();
    convert_filters(&w, filters + group * p->out_channels * inner);
    tw_barrier();
    for (int32_t image = 0; image < p->batch; image++) {
      const int32_t place = image * p->groups + group;
      k.a = x + place * p->in_channels * p->in_h * p->in_w;
      tw_sum_groups(r, &k);
      finish(&w, &k, group, b, mul, add, y + place * p->out_channels * pixels);
    }
  }
}
