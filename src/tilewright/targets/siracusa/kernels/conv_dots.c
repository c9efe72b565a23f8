/* Convolution of 8-bit integers with the channels last, int32 totals, optionally requantised; all cores together.
 *
 * The window of each output pixel is gathered into a row that is as long as a filter; four such rows and four filters
 * make a block of dot products. Without a window (one tap, neighbouring pixels) the image itself has these rows. */
#ifndef TW_NAME
#define TW_NAME tw_conv_dots
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#define TW_X_SIGNED ((TW_X)-1 < 0)
#define TW_W_SIGNED ((TW_W)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)
#define TW_LARGEST_X (TW_X_SIGNED ? 128u : 255u)

#include "bytes4.h"
#include "cluster.h"
#include "columns.h"
#include "conv.h"
#include "dots.h"

typedef struct {
  const tw_conv_params *p;
  const TW_X *x;
  const TW_W *w;
  const int32_t *b, *mul, *add;
  TW_Y *y;
  int32_t length;   /* of a filter */
  int32_t step;     /* from row to row, and from filter to filter: the length in whole words where rows are gathered */
  int32_t pixels;   /* of y */
  int32_t filters;  /* of all groups: elements from pixel to pixel of y */
  int32_t channels; /* of all groups: elements from pixel to pixel of x */
  int32_t quads;    /* four neighbouring filters each, of one group; the last overlaps the one before */
  tw_columns *columns;
  const uint8_t *filled; /* the filters, filled up with zeros to whole words */
  uint8_t *gathered; /* windows; a part of it is this core's */
  tw_dots dots;
} work;

/* ---- filters ---- */

static int32_t sum_of(const void *row, int32_t length, int is_signed) {
  const uint8_t *at = row;
  int32_t sum = 0;
  for (; length >= 4; length -= 4, at += 4) sum = tw_dot(sum, tw_x_load(at), 0x01010101u, is_signed, 1);
  for (; length > 0; length--, at++) sum += is_signed ? (int8_t)*at : *at;
  return sum;
}

/* The largest sum of products. A closer look at the weights pays off where a faster way to requantise serves many
 * pixels. */
static uint32_t largest_sum(const work *k, const TW_W *w) {
  int32_t length = k->length;
  if (!k->p->requantised || k->pixels * 4 < length) return TW_LARGEST_X * (TW_W_SIGNED ? 128u : 255u) * (uint32_t)length;
  int32_t sum = 0;
  for (; length >= 8; length -= 8, w += 8) {
    const uint32_t low = tw_x_load(w), high = tw_x_load(w + 4);
    sum = tw_x_sdotup4(sum, TW_W_SIGNED ? (uint32_t)tw_x_abs4(low) : low, 0x01010101u);
    sum = tw_x_sdotup4(sum, TW_W_SIGNED ? (uint32_t)tw_x_abs4(high) : high, 0x01010101u);
  }
  for (; length > 0; length--, w++) sum += (int32_t)tw_magnitude(*w);
  return TW_LARGEST_X * (uint32_t)sum;
}

/* The first filter of a quad, within its group. */
static int32_t first_of(const work *k, int32_t quad) { return tw_max(0, tw_min(4 * quad, k->p->out_channels - 4)); }

/* A quad of filters from `filter` on, counted over all groups. Where there are fewer than four, the last one stands in. */
static TW_COMPACT void set_columns(const work *k, int32_t filter, tw_columns *to) {
  const tw_conv_params *const p = k->p;
  const int32_t last = tw_min(p->out_channels, 4) - 1;
  int32_t mul[4], add[4];
  uint32_t limit = 0;
  for (int f = 0; f < 4; f++) {
    const int32_t at = filter + tw_min(f, last);
    int32_t init = tw_conv_bias(p, k->b, at);
    if (p->x_zero) init -= p->x_zero * (sum_of(k->w + at * k->length, k->length, TW_W_SIGNED) - k->length * p->w_zero);
    to->init[f] = init;
    const uint32_t largest = largest_sum(k, k->w + at * k->length) + tw_magnitude(init);
    if (largest > limit) limit = largest;
    mul[f] = p->requantised ? k->mul[at * p->mul_step] : 0;
    add[f] = p->requantised && k->add ? k->add[at * p->add_step] : 0;
  }
  tw_columns_plain(to);
  if (p->requantised) tw_columns_choose(to, &p->requant, mul, 1, add, 1, limit, TW_Y_SIGNED);
  if (!p->w_zero) tw_columns_begin_at_zero(to);
}

/* Copies of this core's share of the filters, where their length is no whole number of words. */
static TW_COMPACT void fill_up(const work *k, uint8_t *to) {
  const tw_share share = tw_share_of(k->filters);
  for (int32_t f = share.first; f < share.end; f++) {
    uint8_t *const end = tw_copy_run(to + f * k->step, (const uint8_t *)(k->w + f * k->length), k->length);
    tw_fill_run(end, 0, k->step - k->length);
  }
}

static void set_all_columns(const work *k) {
  const int32_t groups = k->p->groups;
  const tw_share share = tw_share_of(groups * k->quads);
  int32_t group = 0, quad = share.first;
  for (; quad >= k->quads; quad -= k->quads) group++;
  for (int32_t i = share.first; i < share.end; i++) {
    set_columns(k, group * k->p->out_channels + first_of(k, quad), k->columns + i);
    if (++quad == k->quads) quad = 0, group++;
  }
}

/* ---- windows ---- */

/* Taps of one row of a window that lie in the image, from `in_x` on; outside is zero's value. */
static inline uint8_t *gather_row(const work *k, const uint8_t *x_row, int32_t in_x, uint8_t *to) {
  const tw_conv_params *const p = k->p;
  const int32_t channels = p->in_channels, taps = p->kernel_w;
  if (p->dilation_w == 1 && p->groups == 1) {
    const int32_t before = tw_min(tw_max(0, -in_x), taps), end = tw_max(before, tw_min(taps, p->in_w - in_x));
    if (before > 0) to = tw_fill_run(to, p->x_zero, before * channels);
    to = tw_copy_run(to, x_row + (in_x + before) * channels, (end - before) * channels);
    return end < taps ? tw_fill_run(to, p->x_zero, (taps - end) * channels) : to;
  }
  for (int32_t s = 0; s < taps; s++, in_x += p->dilation_w) {
    const int is_inside = in_x >= 0 && in_x < p->in_w;
    to = is_inside ? tw_copy_run(to, x_row + in_x * k->channels, channels) : tw_fill_run(to, p->x_zero, channels);
  }
  return to;
}

/* The window whose corner is at (in_y, in_x), wherever it lies. */
static TW_COMPACT uint8_t *gather_any(const work *k, const uint8_t *x, int32_t in_y, int32_t in_x, uint8_t *to) {
  const tw_conv_params *const p = k->p;
  for (int32_t r = 0; r < p->kernel_h; r++, in_y += p->dilation_h) {
    const int is_inside = in_y >= 0 && in_y < p->in_h;
    to = is_inside ? gather_row(k, x + in_y * p->in_w * k->channels, in_x, to)
                   : tw_fill_run(to, p->x_zero, p->kernel_w * p->in_channels);
  }
  return to;
}

/* Rows of a window that lies in the image, each a run of bytes. */
static inline uint8_t *gather_runs(const uint8_t *from, int32_t pitch, int32_t rows, int32_t run, uint8_t *to) {
  for (; rows > 0; rows--, from += pitch, to += run) {
    if (run >= 32 || run < 4) {
      tw_copy_run(to, from, run);
      continue;
    }
    for (int32_t i = 0; i <= run - 4; i += 4) tw_x_store(to + i, tw_x_load(from + i));
    if (run & 3) tw_x_store(to + run - 4, tw_x_load(from + run - 4));
  }
  return to;
}

/* The windows of `count` output pixels from `pixel` on, for the channels of one group. */
static __attribute__((noinline)) void gather(const work *k, int32_t group, int32_t pixel, int32_t count, uint8_t *to) {
  const tw_conv_params *const p = k->p;
  const int32_t row = (int32_t)((uint32_t)pixel / (uint32_t)p->out_w);
  int32_t out_x = pixel - row * p->out_w, image = (int32_t)((uint32_t)row / (uint32_t)p->out_h);
  int32_t out_y = row - image * p->out_h;
  const int32_t pitch = p->in_w * k->channels, rest = k->step - k->length;
  const int32_t last_y = p->in_h - 1 - (p->kernel_h - 1) * p->dilation_h, last_x = p->in_w - p->kernel_w;
  const int has_runs = p->groups == 1 && (p->dilation_w == 1 || p->kernel_w == 1);
  const uint8_t *x = (const uint8_t *)k->x + image * p->in_h * pitch + group * p->in_channels;
  for (; count > 0; count--) {
    const int32_t in_x = out_x * p->stride_w - p->pad_left, in_y = out_y * p->stride_h - p->pad_top;
    if (has_runs && in_x >= 0 && in_x <= last_x && in_y >= 0 && in_y <= last_y) {
      const uint8_t *const corner = x + in_y * pitch + in_x * p->in_channels;
      to = gather_runs(corner, p->dilation_h * pitch, p->kernel_h, p->kernel_w * p->in_channels, to);
    } else {
      to = gather_any(k, x, in_y, in_x, to);
    }
    for (int32_t i = 0; i < rest; i++) *to++ = 0;
    if (++out_x < p->out_w) continue;
    out_x = 0;
    if (++out_y < p->out_h) continue;
    out_y = 0;
    x += p->in_h * pitch;
  }
}

/* ---- results ---- */

/* Whether totals are requantised one by one. */
static int by_totals(const work *k, const tw_columns *columns) { return columns->mode == TW_EXACT || k->p->w_zero; }

/* Totals to results, one by one: the exact requantisation, and what a zero point of w adds to the totals of a row. */
static TW_COMPACT void store_totals(const work *k, const void *row, int32_t filter, int32_t count,
                                    const int32_t *total, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  uint32_t excess = 0;
  if (p->w_zero) excess = (uint32_t)p->w_zero * (uint32_t)sum_of(row, k->length, TW_X_SIGNED);
  for (int32_t f = 0; f < count; f++) {
    const int32_t value = (int32_t)((uint32_t)total[f] - excess), at = filter + f;
    if (p->requantised) {
      const int32_t summand = k->add ? k->add[at * p->add_step] : 0;
      y[f] = (TW_Y)tw_requantise(&p->requant, value, k->mul[at * p->mul_step], summand);
    } else {
      y[f] = (TW_Y)value;
    }
  }
}

/* The totals of `count` filters of a quad, from its filter f on. */
static inline void store(const work *k, const void *row, int32_t filter, int32_t f, int32_t count,
                         const int32_t *total, TW_Y *y) {
  const tw_columns *const columns = k->dots.columns;
  if (by_totals(k, columns)) {
    store_totals(k, row, filter + f, count, total, y + f);
    return;
  }
  for (int32_t i = 0; i < count; i++) y[f + i] = (TW_Y)tw_columns_finish(columns, total[i], f + i, TW_Y_SIGNED);
}

/* Pixel by pixel. */
static TW_COMPACT void pixels_alone(const work *k, const uint8_t *row, int32_t count, int32_t filter, TW_Y *y) {
  const int32_t filters = tw_min(k->p->out_channels, 4);
  const tw_columns *const columns = k->dots.columns;
  tw_dots_rows rows = k->dots.rows;
  if (filters < 4) rows.step = 0, rows.back = 4;
  for (; count > 0; count--, row += k->step, y += k->filters) {
    for (int32_t f = 0; f < filters; f += filters == 4 ? 4 : 1) {
      int32_t total[4] = {columns->init[f], columns->init[1], columns->init[2], columns->init[3]};
      tw_dots_row(&rows, row, (const uint8_t *)k->dots.b + f * k->step, total, TW_X_SIGNED, TW_W_SIGNED);
      store(k, row, filter, f, filters == 4 ? 4 : 1, total, y);
    }
  }
}

/* Fewer than four filters, each on four pixels at a time: their rows take the filters' place. At least four pixels. */
static __attribute__((noinline)) void few_filters(const work *k, const uint8_t *row, int32_t count, int32_t filter, TW_Y *y) {
  const tw_columns *const columns = k->dots.columns;
  for (int32_t f = 0; f < k->p->out_channels; f++) {
    const uint8_t *const weights = k->filled + (filter + f) * k->step;
    const int32_t init = columns->init[f];
    for (int32_t done = 0; done < count; done += 4) {
      const int32_t first = tw_min(done, count - 4);
      int32_t total[4] = {init, init, init, init};
      tw_dots_row(&k->dots.rows, weights, row + first * k->step, total, TW_W_SIGNED, TW_X_SIGNED);
      for (int32_t i = 0; i < 4; i++) {
        store(k, row + (first + i) * k->step, filter, f, 1, total + i, y + (first + i) * k->filters);
      }
    }
  }
}

/* Four pixels at a time, their totals then one by one. */
static TW_COMPACT void blocks_by_totals(work *k, const uint8_t *row, int32_t blocks, int32_t filter, TW_Y *y) {
  int32_t total[16];
  k->dots.y_step = 16;
  for (; blocks > 0; blocks--) {
    k->dots.a = row;
    k->dots.a_end = row + 4 * k->step;
    k->dots.y = total;
    tw_dots_blocks(&k->dots, TW_X_SIGNED, TW_W_SIGNED, TW_Y_SIGNED);
    for (int32_t i = 0; i < 4; i++, row += k->step, y += k->filters) {
      store_totals(k, row, filter, 4, total + 4 * i, y);
    }
  }
}

/* Some pixels, whose rows begin at `row`, with one quad of filters. */
static void quad_on_rows(work *k, const uint8_t *row, int32_t count, int32_t filter, const tw_columns *columns,
                         TW_Y *y) {
  tw_columns own;
  k->dots.b = k->filled + filter * k->step;
  k->dots.columns = columns;
  if (count < 4) {
    pixels_alone(k, row, count, filter, y);
    return;
  }
  if (k->p->out_channels < 4) {
    few_filters(k, row, count, filter, y);
    return;
  }
  const int one_by_one = by_totals(k, columns);
  if (one_by_one) {
    for (int f = 0; f < 4; f++) own.init[f] = columns->init[f];
    tw_columns_plain(&own);
    k->dots.columns = &own;
  }
  k->dots.y_step = k->filters * (int32_t)sizeof(TW_Y);
  for (int32_t done = 0, blocks = count >> 2; done < count; blocks = 1) {
    const uint8_t *const from = row + done * k->step;
    TW_Y *const to = y + done * k->filters;
    if (one_by_one) {
      blocks_by_totals(k, from, blocks, filter, to);
    } else {
      k->dots.a = from;
      k->dots.a_end = from + 4 * blocks * k->step;
      k->dots.y = to;
      tw_dots_blocks(&k->dots, TW_X_SIGNED, TW_W_SIGNED, TW_Y_SIGNED);
    }
    done += 4 * blocks;
    if (done < count) done = count - 4;
  }
}

static int is_pointwise(const tw_conv_params *p) {
  return p->kernel_h * p->kernel_w == 1 && p->in_channels >= 4 && p->stride_h == 1 && p->stride_w == 1 && p->groups == 1 &&
         p->out_h == p->in_h && p->out_w == p->in_w && p->pad_top == 0 && p->pad_left == 0;
}

/* Pixels from `first` to `end`, filters of the quads from `quad` to `quad_end`, group by group. */
static void pixels(work *k, int32_t first, int32_t end, int32_t quad, int32_t quad_end) {
  const tw_conv_params *const p = k->p;
  const int pointwise = is_pointwise(p);
  for (int32_t group = 0; group < p->groups; group++) {
    for (int32_t pixel = first; pixel < end;) {
      int32_t count = pointwise ? end - pixel : tw_min(p->chunk, end - pixel);
      if (count < 4 && pixel + count >= 4) pixel -= 4 - count, count = 4;
      const uint8_t *rows = (const uint8_t *)k->x + pixel * k->step;
      if (!pointwise) {
        uint8_t *const own = k->gathered + tw_core() * p->chunk * k->step;
        gather(k, group, pixel, count, own);
        rows = own;
      }
      for (int32_t q = quad; q < quad_end; q++) {
        const int32_t filter = group * p->out_channels + first_of(k, q);
        quad_on_rows(k, rows, count, filter, k->columns + group * k->quads + q, k->y + pixel * k->filters + filter);
      }
      pixel += count;
    }
  }
}

/* All cores gather windows for all, and then each computes some filters on all of them; in rounds, as far as there is
 * room. Windows are gathered once, and blocks are many at a time. */
static void filters_apart(work *k) {
  const tw_conv_params *const p = k->p;
  const tw_share quads = tw_share_of(k->quads);
  const int32_t room = TW_CORES * p->chunk;
  for (int32_t group = 0; group < p->groups; group++) {
    for (int32_t pixel = 0; pixel < k->pixels; pixel += room) {
      const int32_t count = tw_min(room, k->pixels - pixel);
      const tw_share own = tw_share_of(count);
      if (own.first < own.end) {
        gather(k, group, pixel + own.first, own.end - own.first, k->gathered + own.first * k->step);
      }
      tw_barrier();
      for (int32_t q = quads.first; q < quads.end; q++) {
        const int32_t filter = group * p->out_channels + first_of(k, q);
        TW_Y *const y = k->y + pixel * k->filters + filter;
        quad_on_rows(k, k->gathered, count, filter, k->columns + group * k->quads + q, y);
      }
      tw_barrier();
    }
  }
}

static int is_fair(int32_t count) { return count % TW_CORES == 0 || count >= 6 * TW_CORES; }

/* Each core takes some filters if that is fair, or some blocks of pixels; or else both are cut. */
static void deal_out(work *k) {
  const int32_t total = k->pixels, blocks = (total + 3) >> 2;
  if (is_fair(k->quads)) {
    const tw_share share = tw_share_of(k->quads);
    if (is_pointwise(k->p)) {
      pixels(k, 0, total, share.first, share.end);
    } else {
      filters_apart(k);
    }
    return;
  }
  if (is_fair(blocks)) {
    const tw_share share = tw_share_in_blocks(total, 4);
    pixels(k, share.first, share.end, 0, k->quads);
    return;
  }
  const int32_t parts = tw_min(k->quads, TW_CORES);
  const tw_share share = tw_share_of(blocks * parts);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t block = (int32_t)((uint32_t)i / (uint32_t)parts), part = i - block * parts;
    pixels(k, 4 * block, tw_min(total, 4 * block + 4), k->quads * part / parts, k->quads * (part + 1) / parts);
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = params;
  work k;
  k.p = p, k.x = x, k.w = w, k.b = b, k.mul = mul, k.add = add, k.y = y;
  k.length = p->kernel_h * p->kernel_w * p->in_channels;
  k.pixels = p->batch * p->out_h * p->out_w;
  k.filters = p->groups * p->out_channels;
  k.channels = p->groups * p->in_channels;
  k.quads = (p->out_channels + 3) >> 2;
  if (k.pixels * k.quads == 0) return;
  k.columns = scratch;
  k.step = is_pointwise(p) ? k.length : (k.length + 3) & ~3;
  uint8_t *const behind = (uint8_t *)(k.columns + p->groups * k.quads);
  k.filled = k.step == k.length ? (const uint8_t *)w : behind;
  k.gathered = k.step == k.length ? behind : behind + k.filters * k.step;
  if (k.step != k.length) fill_up(&k, behind);
  tw_dots_length(&k.dots, k.step);
  set_all_columns(&k);
  tw_barrier();
  deal_out(&k);
}
