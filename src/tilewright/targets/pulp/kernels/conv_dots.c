/* Convolution of 8-bit integers with the channels last, int32 totals, optionally requantised; all cores together.
 *
 * The window of each output pixel is gathered into a row that is as long as a filter; four such rows and four filters
 * make a block of dot products. Without a window (one tap, neighbouring pixels) the image itself has these rows, and
 * where that is faster windows are left where they are, in rows of the image (conv_strips.h). */
#ifndef TW_NAME
#define TW_NAME tw_conv_dots
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#define TW_X_SIGNED ((TW_X)-1 < 0)
#define TW_W_SIGNED ((TW_W)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)

#include "own_requant.h"
#include "conv_filters.h"
#include "conv_strips.h"
#include "conv_windows.h"

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
      y[f] = (TW_Y)tw_requantise_byte(&p->requant, value, k->mul[at * p->mul_step], summand);
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
      tw_dots_row(&rows, row, (const uint8_t *)k->dots.b + f * k->filter, total, TW_X_SIGNED, TW_W_SIGNED);
      store(k, row, filter, f, filters == 4 ? 4 : 1, total, y);
    }
  }
}

/* Fewer than four filters, each on four pixels at a time: their rows take the filters' place. At least four pixels. */
static __attribute__((noinline)) void few_filters(const work *k, const uint8_t *row, int32_t count, int32_t filter, TW_Y *y) {
  const tw_columns *const columns = k->dots.columns;
  for (int32_t f = 0; f < k->p->out_channels; f++) {
    const uint8_t *const weights = k->filled + (filter + f) * k->filter;
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

static void blocks(work *k) {
  if (k->p->strips) {
    tw_dots_blocks_in_runs(&k->dots, TW_X_SIGNED, TW_W_SIGNED, TW_Y_SIGNED);
  } else {
    tw_dots_blocks(&k->dots, TW_X_SIGNED, TW_W_SIGNED, TW_Y_SIGNED);
  }
}

/* Four pixels, their totals then one by one. */
static void block_by_totals(work *k, const uint8_t *row, int32_t filter, TW_Y *y) {
  int32_t total[16];
  k->dots.quads = 1;
  k->dots.y_step = 16;
  k->dots.a = row;
  k->dots.a_end = row + 4 * k->step;
  k->dots.y = total;
  blocks(k);
  for (int32_t i = 0; i < 4; i++, row += k->step, y += k->filters) {
    store_totals(k, row, filter, 4, total + 4 * i, y);
  }
}

/* Some pixels, whose rows begin at `row`, with whole quads of filters from `filter` on: in blocks, the last of which may
 * overlap the one before. */
static __attribute__((noinline)) void quads_in_blocks(work *k, const uint8_t *row, int32_t count, int32_t filter,
                                                      const tw_columns *columns, int32_t quads, TW_Y *y) {
  k->dots.y_step = k->filters * (int32_t)sizeof(TW_Y);
  k->dots.b_next = 4 * k->filter;
  k->dots.columns_next = sizeof(tw_columns);
  k->dots.y_next = 4 * sizeof(TW_Y);
  for (int32_t done = 0, whole = count >> 2; done < count; whole = 1) {
    k->dots.quads = quads;
    k->dots.b = k->filled + filter * k->filter;
    k->dots.columns = columns;
    k->dots.a = row + done * k->step;
    k->dots.a_end = row + (done + 4 * whole) * k->step;
    k->dots.y = k->dots.y_begin = y + done * k->filters;
    blocks(k);
    done += 4 * whole;
    if (done < count) done = count - 4;
  }
}

/* The same with one quad, in whatever way it takes. */
static TW_COMPACT void quad_otherwise(work *k, const uint8_t *row, int32_t count, int32_t filter,
                                      const tw_columns *columns, TW_Y *y) {
  k->dots.b = k->filled + filter * k->filter;
  k->dots.columns = columns;
  if (count < 4) {
    pixels_alone(k, row, count, filter, y);
  } else if (k->p->out_channels < 4) {
    few_filters(k, row, count, filter, y);
  } else {
    tw_columns own;
    for (int f = 0; f < 4; f++) own.init[f] = columns->init[f];
    tw_columns_plain(&own);
    k->dots.columns = &own;
    for (int32_t done = 0; done < count; done += 4) {
      const int32_t from = tw_min(done, count - 4);
      block_by_totals(k, row + from * k->step, filter, y + from * k->filters);
    }
    k->dots.columns = columns;
  }
}

/* The same with the quads from `quad` to `end` of a group; y is that of the first filter of all. */
static void quads_on_rows(work *k, const uint8_t *row, int32_t count, int32_t group, int32_t quad, int32_t end, TW_Y *y) {
  const tw_columns *const columns = k->columns + group * k->quads;
  const int32_t first = group * k->p->out_channels, has_blocks = count >= 4 && k->p->out_channels >= 4;
  while (quad < end) {
    const int32_t filter = first + first_of(k, quad);
    int32_t together = 0;
    while (has_blocks && quad + together < end && !by_totals(k, columns + quad + together)) together++;
    if (together == 0) {
      quad_otherwise(k, row, count, filter, columns + quad, y + filter);
      quad++;
      continue;
    }
    /* A last quad that overlaps the one before begins elsewhere. */
    const int is_alone = filter + 4 * (together - 1) != first + first_of(k, quad + together - 1);
    if (is_alone && together > 1) together--;
    quads_in_blocks(k, row, count, filter, columns + quad, together, y + filter);
    quad += together;
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
      quads_on_rows(k, rows, count, group, quad, quad_end, k->y + pixel * k->filters);
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
      quads_on_rows(k, k->gathered, count, group, quads.first, quads.end, k->y + pixel * k->filters);
      tw_barrier();
    }
  }
}

static int is_fair(int32_t count) { return count % TW_CORES == 0 || count >= 6 * TW_CORES; }

/* Pieces of `chunk` pixels of a row. Where they are too few to be dealt out, each is dealt out in parts of its filters. */
static void strips(work *k) {
  const tw_conv_params *const p = k->p;
  const int32_t across = (p->out_w + p->chunk - 1) / p->chunk, pieces = p->batch * p->out_h * across;
  int32_t parts = 1;
  while (parts < k->quads && !(is_fair(pieces * parts) && k->quads % parts == 0)) parts++;
  const tw_share share = tw_share_of(pieces * parts);
  const uint8_t *rows = 0;
  for (int32_t i = share.first, current = -1; i < share.end; i++) {
    const int32_t piece = (int32_t)((uint32_t)i / (uint32_t)parts), part = i - piece * parts;
    const int32_t row = (int32_t)((uint32_t)piece / (uint32_t)across);
    const int32_t x = tw_min((piece - row * across) * p->chunk, p->out_w - p->chunk);
    const int32_t image = (int32_t)((uint32_t)row / (uint32_t)p->out_h);
    if (piece != current) rows = windows_of(k, image, row - image * p->out_h, x, p->chunk);
    current = piece;
    quads_on_rows(k, rows, p->chunk, 0, k->quads * part / parts, k->quads * (part + 1) / parts,
                  k->y + (row * p->out_w + x) * k->filters);
  }
}

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
  k.pixel = (p->in_channels + 3) & ~3;
  k.filter = p->strips ? p->kernel_h * p->kernel_w * k.pixel : is_pointwise(p) ? k.length : (k.length + 3) & ~3;
  k.step = p->strips ? p->stride_w * k.pixel : k.filter;
  k.pitch = ((p->chunk - 1) * p->stride_w + p->kernel_w) * k.pixel;
  uint8_t *const behind = (uint8_t *)(k.columns + p->groups * k.quads);
  k.filled = k.filter == k.length ? (const uint8_t *)w : behind;
  k.gathered = k.filter == k.length ? behind : behind + k.filters * k.filter;
  if (k.filter != k.length) fill_up(&k, behind);
  tw_dots_length(&k.dots, k.filter);
  tw_conv_params inside;
  if (p->padded) pad_image(&k, &inside, k.gathered + TW_CORES * p->chunk * k.step);
  set_all_columns(&k);
  tw_barrier();
  if (p->strips) {
    strips(&k);
  } else {
    deal_out(&k);
  }
}
