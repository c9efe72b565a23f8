/* Convolution of bytes, channels last, and product of rows with a constant matrix; weights are packed as dot.h says.
 * Needs TW_X and TW_Y, and TW_THEN where something follows: 1 if results are requantised once more, 2 if they are added
 * to another tensor of the same bytes and requantised. Both only the most common ways. With TW_FLOATS results are floats.
 *
 * An image with padding is copied first, so that all windows lie inside. Pieces of a window that are long enough, and a
 * multiple of four bytes, are read where they are; other windows are gathered: they are then a single piece. Every block
 * of filters meets all pixels of a strip. */
#ifndef TW_CONV_DOT_BLOCKS_H
#define TW_CONV_DOT_BLOCKS_H

#include "conv_dot_sizes.h"
#include "dot.h"

#ifndef TW_THEN
#define TW_THEN 0
#endif
#ifndef TW_FLOATS
#define TW_FLOATS 0
#endif
#if TW_FLOATS
#include "totals_as_floats.h"
#else
typedef struct tw_floats tw_floats;
#endif

#define TW_FLIP (TW_IS_UNSIGNED(TW_X) ? 0x80 : 0)

/* What is the same for all pixels. */
typedef struct {
  const tw_conv_params *p;
  tw_way way;
  int32_t rows, pieces, length; /* of a window, as it is multiplied: rows of pieces of so many bytes */
  int64_t down, aside;          /* from row to row and from piece to piece */
  int64_t pitch;                /* of results, from pixel to pixel */
  const int8_t **at;            /* the windows of a strip */
  const tw_then *then;
  const TW_Y *added, *y; /* what is added to all results, and where those begin */
  int8_t *tiled;         /* memory for windows that tiles are made of; none where there are no tiles */
} work;

/* A block of filters. */
typedef struct {
  const int8_t *w;
  const int32_t *b, *mul, *add;
  const int32_t *then_mul, *then_add;
  int32_t filters; /* that are wanted */
  const tw_floats *floats;
} block;

/* ---- totals and results ---- */

TW_APART void store_any(const work *k, const block *f, const int32_t *total, TW_Y *y) {
  if (!k->p->requantised) {
    for (int32_t i = 0; i < f->filters; i++) y[i] = (TW_Y)total[i];
    return;
  }
  const tw_requant requant = k->p->requant;
  for (int32_t i = 0; i < f->filters; i++) {
    y[i] = (TW_Y)tw_requantise(&requant, total[i], f->mul[i], f->add ? f->add[i] : 0);
  }
}

TW_APART void copy_rows(TW_Y *y, int64_t pitch, const TW_Y *from, int32_t rows, int32_t columns) {
  for (int32_t r = 0; r < rows; r++, y += pitch, from += TW_COLUMNS) memcpy(y, from, (size_t)columns * sizeof(TW_Y));
}

#if TW_FLOATS

/* Not all rows or columns, or rows with scales of their own: totals have left their registers. */
TW_APART void store_some_floats(const work *k, const block *f, const tw_sums *t, float *y, int32_t rows) {
  const tw_floats floats = *f->floats;
  const int64_t at = f->b - floats.start, first = (y - k->y) / k->pitch;
  const int32_t columns = tw_min(f->filters, TW_COLUMNS);
  for (int32_t r = 0; r < rows; r++, y += k->pitch) {
    tw_vector_bits total[2];
    tw_vector made[2];
    memcpy(total, t + r, sizeof total);
    tw_totals_as_floats(&floats, at, first + r, total, made);
    memcpy(y, made, (size_t)columns * sizeof *y);
  }
}

TW_ALWAYS void store_floats(int rows, const work *k, const block *f, const tw_sums *t, float *y, int32_t wanted) {
  const tw_floats *const floats = f->floats;
  if (floats->row_zero || floats->row_scale || wanted < rows || f->filters < TW_COLUMNS) {
    tw_sums all[TW_ROWS];
    TW_UNROLLED for (int r = 0; r < rows; r++) all[r] = t[r];
    store_some_floats(k, f, all, y, wanted);
    return;
  }
  const int64_t at = f->b - floats->start, pitch = k->pitch;
  const tw_vector low = tw_all(floats->low), high = tw_all(floats->high);
  TW_UNROLLED for (int v = 0; v < 2; v++) {
    const tw_vector scale = tw_load(floats->scale + at + v * TW_LANES), bias = tw_load(floats->bias + at + v * TW_LANES);
    TW_UNROLLED for (int r = 0; r < rows; r++) {
      tw_vector_bits total[2];
      memcpy(total, &t[r], sizeof total);
      const tw_vector made = tw_rounded(__builtin_convertvector(total[v], tw_vector) * scale) + bias;
      tw_store(y + r * pitch + v * TW_LANES, tw_at_most(tw_at_least(made, low), high));
    }
  }
}

#endif

/* What turns totals of a block of filters into bytes. */
typedef struct {
  tw_scaler scaler;
  tw_factors factors;
  tw_then_scaler then_scaler;
  tw_then_factors then_factors;
} scaling;

TW_ALWAYS scaling scaling_of(const work *k, const block *f) {
  scaling made;
  made.scaler = tw_scaler_of(&k->p->requant);
  if (k->way != TW_ANY_WAY) made.factors = tw_factors_of(&made.scaler, f->mul, f->add);
  if (TW_THEN) {
    made.then_scaler = tw_then_scaler_of(&k->p->requant, k->then);
    made.then_factors = tw_then_factors_of(&made.then_scaler, f->then_mul, f->then_add);
  }
  return made;
}

/* One of the most common ways, and what follows; totals stay in registers. */
TW_ALWAYS void scale_near(tw_way way, int rows, const scaling *s, const tw_sums *t, const TW_Y *added, TW_Y *y,
                          int64_t pitch) {
  if (TW_THEN) {
    tw_scale_near_twice(way, rows, &s->scaler, &s->factors, &s->then_scaler, &s->then_factors, TW_IS_UNSIGNED(TW_Y), t,
                        added, y, pitch);
  } else {
    tw_scale_near(way, rows, &s->scaler, &s->factors, TW_IS_UNSIGNED(TW_Y), t, y, pitch);
  }
}

/* Another way than the most common: totals have left their registers. */
TW_APART void scale_rows(tw_way way, int rows, const scaling *s, const tw_sums *t, TW_Y *y, int64_t pitch) {
  for (int r = 0; r < rows; r++, y += pitch) {
    tw_scale_rows(way, 1, &s->scaler, &s->factors, TW_IS_UNSIGNED(TW_Y), t + r, y, 0);
  }
}

/* What is added to some rows of results, of which not all are wanted: copied where all may be read. */
TW_ALWAYS const TW_Y *added_rows(const work *k, const TW_Y *y, int is_whole, int32_t rows, int32_t columns, TW_Y *copy) {
  const TW_Y *from = k->added + (y - k->y);
  if (is_whole) return from;
  memset(copy, 0, TW_ROWS * TW_COLUMNS * sizeof(TW_Y));
  for (int32_t r = 0; r < rows; r++, from += k->pitch) {
    memcpy(copy + r * TW_COLUMNS, from, (size_t)columns * sizeof(TW_Y));
  }
  return copy;
}

/* Results of some pixels: where not all rows or columns are wanted, all are stored elsewhere first. */
TW_ALWAYS void store_block(int rows, const work *k, const block *f, const scaling *s, const tw_sums *t, TW_Y *y, int32_t wanted) {
  const int64_t pitch = k->pitch;
  const int is_whole = wanted == rows && f->filters >= TW_COLUMNS;
#if TW_FLOATS
  store_floats(rows, k, f, t, y, wanted);
  return;
#endif
  if (sizeof(TW_Y) == 1 && k->way != TW_ANY_WAY) {
    TW_Y some[TW_ROWS * TW_COLUMNS];
    TW_Y *const to = is_whole ? y : some;
    const int64_t step = is_whole ? pitch : TW_COLUMNS;
    if (TW_THEN || TW_IS_NEAR(k->way)) {
      TW_Y copy[TW_ROWS * TW_COLUMNS];
      const int32_t columns = tw_min(f->filters, TW_COLUMNS);
      const TW_Y *const added = TW_THEN == 2 ? added_rows(k, y, is_whole, wanted, columns, copy) : NULL;
      scale_near(k->way, rows, s, t, added, to, step);
    } else {
      tw_sums all[TW_ROWS];
      TW_UNROLLED for (int r = 0; r < rows; r++) all[r] = t[r];
      scale_rows(k->way, rows, s, all, to, step);
    }
    if (!is_whole) copy_rows(y, pitch, some, wanted, tw_min(f->filters, TW_COLUMNS));
    return;
  }
  int32_t totals[TW_ROWS * TW_COLUMNS];
  TW_UNROLLED for (int r = 0; r < rows; r++) tw_sums_store(totals + r * TW_COLUMNS, t[r]);
  for (int32_t r = 0; r < wanted; r++) store_any(k, f, totals + r * TW_COLUMNS, y + r * pitch);
}

/* Some pixels and a block of filters. Totals stay in registers as long as nothing but constants chooses among them. */
TW_ALWAYS void multiply_block(int rows, const work *k, const block *f, const scaling *s, const int8_t *const *at, TW_Y *y, int32_t wanted) {
  const int32_t length = k->length;
  const int8_t *w = f->w, *x[TW_ROWS];
  tw_sums t[TW_ROWS];
  TW_UNROLLED for (int r = 0; r < rows; r++) t[r] = tw_sums_load(f->b);
  TW_UNROLLED for (int r = 0; r < rows; r++) x[r] = at[r];
  tw_turn_pairs(rows, t);
  for (int32_t row = k->rows;;) {
    for (int32_t piece = k->pieces;;) {
      w = tw_multiply(rows, t, x, length, w, TW_FLIP);
      if (--piece == 0) break;
      TW_UNROLLED for (int r = 0; r < rows; r++) x[r] += k->aside;
    }
    if (--row == 0) break;
    TW_UNROLLED for (int r = 0; r < rows; r++) x[r] += k->down;
  }
  tw_turn_pairs(rows, t);
  store_block(rows, k, f, s, t, y, wanted);
}

/* Whole blocks of pixels and filters, one of the most common ways; `sixteens` where windows are rows of as many bytes. All
 * registers are for totals and what is multiplied until all products are summed. */
TW_ALWAYS void near_blocks(int sixteens, const work *k, const int8_t *const *at, const block *f, TW_Y *y,
                           int32_t blocks) {
  const scaling own = scaling_of(k, f);
  const tw_way way = k->way;
  const int64_t pitch = k->pitch;
  const int32_t length = k->length, *b = f->b;
  for (; blocks > 0; blocks--, at += TW_ROWS, y += TW_ROWS * pitch) {
    const scaling *s = &own;
    const int8_t *w = f->w, *x[TW_ROWS];
    tw_sums t[TW_ROWS];
    TW_UNROLLED for (int r = 0; r < TW_ROWS; r++) {
      TW_FORGOTTEN(b); /* copies would take the place of products */
      t[r] = tw_sums_load(b);
    }
    TW_UNROLLED for (int r = 0; r < TW_ROWS; r++) x[r] = at[r];
    tw_turn_pairs(TW_ROWS, t);
    for (int32_t row = k->rows;;) {
      w = sixteens ? tw_multiply_sixteens(TW_ROWS, t, x, length, w, TW_FLIP) : tw_multiply(TW_ROWS, t, x, length, w, TW_FLIP);
      if (--row == 0) break;
      TW_UNROLLED for (int r = 0; r < TW_ROWS; r++) x[r] += k->down;
    }
    tw_turn_pairs(TW_ROWS, t);
    TW_FORGOTTEN(s);
    const scaling kept = *s;
    scale_near(way, TW_ROWS, &kept, t, TW_THEN == 2 ? k->added + (y - k->y) : NULL, y, k->pitch);
  }
}

TW_APART void near_sixteens(const work *k, const int8_t *const *at, const block *f, TW_Y *y,
                            int32_t blocks) {
  near_blocks(1, k, at, f, y, blocks);
}

TW_APART void near_fours(const work *k, const int8_t *const *at, const block *f, TW_Y *y, int32_t blocks) {
  near_blocks(0, k, at, f, y, blocks);
}

/* Whole blocks of pixels. What they share is kept where no result can lie. */
TW_APART void many_rows(const work *k, const int8_t *const *at, const block *f, TW_Y *y,
                        int32_t blocks) {
  if (sizeof(TW_Y) == 1 && TW_IS_NEAR(k->way) && k->pieces == 1 && f->filters >= TW_COLUMNS) {
    if (k->length % 16 == 0) {
      near_sixteens(k, at, f, y, blocks);
    } else {
      near_fours(k, at, f, y, blocks);
    }
    return;
  }
  const scaling s = scaling_of(k, f);
  const int64_t step = TW_ROWS * k->pitch;
  for (; blocks > 0; blocks--, at += TW_ROWS, y += step) multiply_block(TW_ROWS, k, f, &s, at, y, TW_ROWS);
}

TW_APART void some_rows(const work *k, const int8_t *const *at, const block *f, TW_Y *y, int32_t rows) {
  const scaling s = scaling_of(k, f);
  multiply_block(TW_ROWS, k, f, &s, at, y, rows);
}

TW_APART void few_rows(const work *k, const int8_t *const *at, const block *f, TW_Y *y, int32_t rows) {
  const scaling s = scaling_of(k, f);
  multiply_block(TW_ROWS / 2, k, f, &s, at, y, rows);
}

TW_APART void one_row(const work *k, const int8_t *const *at, const block *f, TW_Y *y) {
  const scaling s = scaling_of(k, f);
  multiply_block(1, k, f, &s, at, y, 1);
}

/* All pixels of a strip and a block of filters. */
static void on_strip(const work *k, int32_t pixels, const block *f, TW_Y *y) {
  const int32_t whole = pixels / TW_ROWS, rest = pixels % TW_ROWS;
  const int8_t *const *const at = k->at + whole * TW_ROWS;
  TW_Y *const to = y + whole * TW_ROWS * k->pitch;
  if (whole) many_rows(k, k->at, f, y, whole);
  if (rest == 1) {
    one_row(k, at, f, to);
  } else if (rest > TW_ROWS / 2) {
    some_rows(k, at, f, to, rest);
  } else if (rest) {
    few_rows(k, at, f, to, rest);
  }
}

/* ---- windows ---- */

/* The image that windows lie in. */
typedef struct {
  int8_t *copy; /* with padding, if need be */
  int32_t width;
  int64_t pitch; /* from pixel to pixel */
  int8_t *windows;
  int32_t window, pieces; /* bytes of a window that is gathered, and pieces of its rows */
} view;

/* The image with its padding, as far as windows reach. */
static void pad_image(const tw_conv_params *p, const view *v, const int8_t *x) {
  const int32_t height = (p->out_h - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
  const int32_t before = tw_min(p->pad_left, v->width);
  const size_t left = (size_t)(before * v->pitch), row = (size_t)(v->width * v->pitch);
  const size_t inside = (size_t)(tw_min(p->in_w, v->width - before) * v->pitch);
  int8_t *to = v->copy;
  for (int32_t r = -p->pad_top; r < height - p->pad_top; r++, to += row) {
    if (r < 0 || r >= p->in_h) {
      memset(to, p->x_zero, row);
      continue;
    }
    memset(to, p->x_zero, left);
    memcpy(to + left, x + (int64_t)r * p->in_w * v->pitch, inside);
    memset(to + left + inside, p->x_zero, row - left - inside);
  }
}

/* Rows of a window, `vectors` of 16 bytes each: what is too much is written again, or lies behind the last window. */
TW_ALWAYS void gather_rows(int32_t vectors, int32_t rows, int32_t length, int64_t down, const int8_t *from, int8_t *to) {
  for (; rows > 0; rows--, from += down, to += length) {
    for (int32_t i = 0; i < vectors; i++) memcpy(to + i * 16, from + i * 16, 16);
  }
}

/* Rows of a window whose pieces lie apart. */
TW_ALWAYS void gather_pieces(const tw_conv_params *p, const view *v, int64_t down, const int8_t *from, int8_t *to) {
  const int32_t vectors = (p->in_channels + 15) / 16;
  for (int32_t r = 0; r < p->kernel_h; r++, from += down, to += p->kernel_w * p->in_channels) {
    gather_rows(vectors, p->kernel_w, p->in_channels, p->dilation_w * v->pitch, from, to);
  }
}

/* The windows of some pixels of a row, `right` bytes from one to the next, whose rows are `vectors` of 16 bytes. */
TW_ALWAYS void gather_pixels(int32_t vectors, int32_t rows, int32_t length, int64_t down, int64_t right, int64_t window,
                             const int8_t *from, int32_t pixels, int8_t *to) {
  for (; pixels > 0; pixels--, from += right, to += window) gather_rows(vectors, rows, length, down, from, to);
}

/* Gathers the windows of some pixels of a row; three short rows are the most common. */
static void gather_row(const tw_conv_params *p, const view *v, const int8_t *from, int32_t pixels, int8_t *to) {
  const int64_t right = p->stride_w * v->pitch, down = p->dilation_h * v->width * v->pitch, window = v->window;
  const int32_t length = p->kernel_w * p->in_channels, rows = p->kernel_h;
  if (v->pieces > 1) {
    for (; pixels > 0; pixels--, from += right, to += window) gather_pieces(p, v, down, from, to);
  } else if (length <= 16 && rows == 3) {
    gather_pixels(1, 3, length, down, right, window, from, pixels, to);
  } else if (length <= 16) {
    gather_pixels(1, rows, length, down, right, window, from, pixels, to);
  } else if (length <= 32) {
    gather_pixels(2, rows, length, down, right, window, from, pixels, to);
  } else {
    gather_pixels((length + 15) / 16, rows, length, down, right, window, from, pixels, to);
  }
}

/* Finds the windows of some pixels, row by row; the last block is filled up with the last of them. */
static void find_windows(const work *k, const view *v, const int8_t *image, int32_t first, int32_t pixels) {
  const tw_conv_params *const p = k->p;
  int32_t row = first / p->out_w, column = first % p->out_w;
  for (int32_t done = 0; done < pixels; row++, column = 0) {
    const int32_t count = tw_min(pixels - done, p->out_w - column);
    const int8_t *const from = image + ((int64_t)row * p->stride_h * v->width + column * p->stride_w) * v->pitch;
    int8_t *const to = v->windows + (int64_t)done * v->window;
    const int64_t step = v->window ? v->window : p->stride_w * v->pitch;
    if (v->window) gather_row(p, v, from, count, to);
    for (int32_t i = 0; i < count; i++) k->at[done + i] = (v->window ? to : from) + i * step;
    done += count;
  }
  for (int32_t i = pixels; i % TW_ROWS; i++) k->at[i] = k->at[pixels - 1];
}

/* ---- all of it ---- */

/* The block so many further; `size` are the weights of one. */
static block after(block f, int64_t size, int32_t blocks) {
  const int32_t columns = blocks * TW_COLUMNS;
  f.w += size * blocks;
  f.b += columns;
  f.mul = f.mul ? f.mul + columns : NULL;
  f.add = f.add ? f.add + columns : NULL;
  if (TW_THEN) f.then_mul += columns, f.then_add += columns;
  return f;
}

/* A row and whole blocks of filters, one of the most common ways: weights are one stream, little is asked between blocks. */
#if TW_FLOATS

TW_APART void multiply_row(const work *k, const block *f, const int8_t *x, TW_Y *y, int32_t filters) {
  const tw_floats floats = *f->floats;
  const int64_t first = f->b - floats.start, row = (y - k->y) / k->pitch;
  const int32_t length = k->length, *const b = f->b;
  const int8_t *w = f->w;
  for (int32_t i = 0; i < filters; i += TW_COLUMNS) {
    tw_sums sums = tw_sums_load(b + i);
    tw_vector_bits total[2];
    tw_vector made[2];
    w = tw_multiply(1, &sums, &x, length, w, TW_FLIP);
    memcpy(total, &sums, sizeof total);
    tw_totals_as_floats(&floats, first + i, row, total, made);
    tw_store(y + i, made[0]);
    tw_store(y + i + TW_LANES, made[1]);
  }
}

#else

TW_APART void multiply_row(const work *k, const block *f, const int8_t *x, TW_Y *y, int32_t filters) {
  const block all = *f;
  scaling own = scaling_of(k, f);
  const tw_way way = k->way;
  const int32_t length = k->length;
  const TW_Y *const added = TW_THEN == 2 ? k->added + (y - k->y) : NULL;
  const int8_t *w = f->w;
  for (int32_t i = 0; i < filters; i += TW_COLUMNS) {
    own.factors = tw_factors_of(&own.scaler, all.mul + i, all.add ? all.add + i : NULL);
    if (TW_THEN) own.then_factors = tw_then_factors_of(&own.then_scaler, all.then_mul + i, all.then_add + i);
    tw_sums total = tw_sums_load(all.b + i);
    w = tw_multiply(1, &total, &x, length, w, TW_FLIP);
    scale_near(way, 1, &own, &total, added ? added + i : NULL, y + i, 0);
  }
}

#endif

/* The filters of a group on a single pixel. */
TW_APART void on_pixel(const work *k, block f, TW_Y *y) {
  const int64_t size = (int64_t)k->rows * k->pieces * k->length * TW_COLUMNS;
  int32_t done = 0;
  if ((TW_FLOATS || (sizeof(TW_Y) == 1 && TW_IS_NEAR(k->way))) && k->rows * k->pieces == 1) {
    done = k->p->out_channels / TW_COLUMNS * TW_COLUMNS;
    multiply_row(k, &f, k->at[0], y, done);
    f = after(f, size, done / TW_COLUMNS);
  }
  for (; done < k->p->out_channels; done += TW_COLUMNS, f = after(f, size, 1)) {
    f.filters = tw_min(TW_COLUMNS, k->p->out_channels - done);
    const scaling s = scaling_of(k, &f);
    multiply_block(1, k, &f, &s, k->at, y + done, 1);
  }
}

#ifdef TW_HAS_TILES

/* Rows that tiles are loaded from, and a row's bytes. */
typedef struct {
  const int8_t *x;
  int64_t pitch;
  int32_t count, inner;
} tiled_rows;

static void copy_window(const work *k, const int8_t *from, int8_t *to) {
  for (int32_t row = k->rows;; from += k->down) {
    for (int32_t piece = k->pieces;; from += k->aside) {
      for (int32_t i = 0; i < k->length; i++) to[i] = from[i] ^ (int8_t)TW_FLIP;
      to += k->length;
      if (--piece == 0) break;
    }
    if (--row == 0) return;
  }
}

/* Windows of some pixels: where they are if that is evenly apart in one piece each, else copied. */
static tiled_rows rows_of_tiles(const work *k, int32_t first, int32_t count) {
  const int32_t inner = k->rows * k->pieces * k->length;
  const int8_t *const *const at = k->at + first;
  const int64_t apart = count > 1 ? at[1] - at[0] : 0;
  int is_even = !TW_FLIP && k->rows * k->pieces == 1 && count == TW_TILED_ROWS;
  for (int32_t i = 1; is_even && i < count; i++) is_even = at[i] - at[i - 1] == apart;
  const tiled_rows made = {is_even ? at[0] : k->tiled, is_even ? apart : inner, count, inner};
  for (int32_t i = 0; !is_even && i < count; i++) copy_window(k, at[i], k->tiled + (int64_t)i * inner);
  return made;
}

/* A block of filters: what is left of rows behind their last tile is multiplied without. */
TW_APART void tiled_block(const work *k, const block *f, const tiled_rows *rows, TW_Y *y) {
  const scaling s = scaling_of(k, f);
  const int32_t whole = rows->inner / TW_TILE_BYTES * TW_TILE_BYTES;
  tw_sums total[TW_TILED_ROWS];
  if (rows->count > TW_TILE_ROWS) tw_sum_tiles(1, rows->x, rows->pitch, f->w, whole, total);
  else tw_sum_tiles(0, rows->x, rows->pitch, f->w, whole, total);
  for (int32_t first = 0; first < rows->count; first += TW_ROWS) {
    tw_sums t[TW_ROWS];
    const int8_t *x[TW_ROWS];
    TW_UNROLLED for (int r = 0; r < TW_ROWS; r++) {
      t[r] = tw_sums_added(total[first + r], tw_sums_load(f->b));
      x[r] = rows->x + (first + r) * rows->pitch + whole;
    }
    if (whole < rows->inner) tw_multiply(TW_ROWS, t, x, rows->inner - whole, f->w + whole / 4 * TW_STEP, 0);
    store_block(TW_ROWS, k, f, &s, t, y + first * k->pitch, tw_min(TW_ROWS, rows->count - first));
  }
}

static void tiled_filters(const work *k, const block *all, int64_t size, int32_t pixels, TW_Y *y) {
  tw_begin_tiles();
  for (int32_t first = 0; first < pixels; first += TW_TILED_ROWS, y += TW_TILED_ROWS * k->pitch) {
    const tiled_rows rows = rows_of_tiles(k, first, tw_min(TW_TILED_ROWS, pixels - first));
    block f = *all;
    for (int32_t done = 0; done < k->p->out_channels; done += TW_COLUMNS, f = after(f, size, 1)) {
      f.filters = tw_min(TW_COLUMNS, k->p->out_channels - done);
      tiled_block(k, &f, &rows, y + done);
    }
  }
  tw_end_tiles();
}

#endif

/* The filters of a group on a strip. */
static void all_filters(const work *k, block f, int32_t pixels, TW_Y *y) {
  const int64_t size = (int64_t)k->rows * k->pieces * k->length / 4 * TW_STEP;
  if (pixels == 1) {
    on_pixel(k, f, y);
    return;
  }
#ifdef TW_HAS_TILES
  if (k->tiled && pixels >= TW_TILE_ROWS) {
    tiled_filters(k, &f, size, pixels, y);
    return;
  }
#endif
  for (int32_t done = 0; done < k->p->out_channels; done += TW_COLUMNS, f = after(f, size, 1)) {
    f.filters = tw_min(TW_COLUMNS, k->p->out_channels - done);
    on_strip(k, pixels, &f, y + done);
  }
}

static block filters_of(const work *k, const block *all, int32_t group) {
  const int32_t blocks = (k->p->out_channels + TW_COLUMNS - 1) / TW_COLUMNS;
  return after(*all, (int64_t)k->rows * k->pieces * k->length * TW_COLUMNS, group * blocks);
}

static void one_image(const work *k, const view *v, const block *all, int32_t strip, const int8_t *image, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  const int32_t pixels = p->out_h * p->out_w;
  for (int32_t done = 0; done < pixels; done += strip) {
    const int32_t count = tw_min(strip, pixels - done);
    for (int32_t g = 0; g < p->groups; g++) {
      const int32_t channel = g * p->in_channels;
      find_windows(k, v, image + channel, done, count);
      all_filters(k, filters_of(k, all, g), count, y + done * k->pitch + g * p->out_channels);
    }
  }
}

static void convolve(const tw_conv_dot_params *params, const int8_t *x, const block *all, const TW_Y *added, TW_Y *y,
                     void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t channels = p->in_channels * p->groups, window = params->window, pieces = params->pieces;
  const int32_t pixels = (params->strip + TW_ROWS - 1) / TW_ROWS * TW_ROWS, width = params->padded ? tw_columns_reached(p) : p->in_w;
  const int8_t **const at = scratch;
  int8_t *const windows = (int8_t *)(at + pixels);
  const view v = {windows + tw_windows_bytes(params, pixels), width, channels, windows, window, pieces};
  const int64_t aside = (int64_t)p->dilation_w * channels, row = (int64_t)p->dilation_h * width * channels;
  work k = {p, (tw_way)params->way, p->kernel_h, pieces, p->kernel_w / pieces * p->in_channels, row - (pieces - 1) * aside,
            aside, (int64_t)p->out_channels * p->groups, at, &params->then, added, y, NULL};
#ifdef TW_HAS_TILES
  const uintptr_t behind = (uintptr_t)(v.copy + tw_image_bytes(params)) + TW_LINE_BYTES - 1;
  if (params->tiled && tw_has_tiles()) k.tiled = (int8_t *)(behind / TW_LINE_BYTES * TW_LINE_BYTES);
#endif
  if (window) k.rows = 1, k.pieces = 1, k.length = window;
  if (params->strip == 1 && p->batch == 1 && p->groups == 1 && !params->padded) {
    at[0] = x;
    on_pixel(&k, *all, y);
    return;
  }
  for (int32_t image = 0; image < p->batch; image++) {
    const int8_t *const from = x + (int64_t)image * p->in_h * p->in_w * channels;
    if (params->padded) pad_image(p, &v, from);
    one_image(&k, &v, all, params->strip, params->padded ? v.copy : from, y + image * p->out_h * p->out_w * k.pitch);
  }
}

#endif
