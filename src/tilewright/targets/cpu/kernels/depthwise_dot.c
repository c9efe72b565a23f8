/* Convolution of bytes in which each filter sees one channel, channels last: blocks of TW_COLUMNS channels or of twice
 * as many, four taps at a time, with weights as [block][four][channel][4].
 *
 * The four taps are those of a column of the window where it has at most four rows: pixels that are neighbours share
 * columns. A last block that is not whole begins earlier, so that it is: some channels are computed twice. Where all
 * channels are at most half a block, a block is several pixels, whose taps are gathered. Taps outside the image find a row
 * of what stands for zero. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_dot
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "conv_dot_sizes.h"
#include "dot.h"

#define TW_FLIP (TW_IS_UNSIGNED(TW_X) ? 0x80 : 0)
#define TW_WIDE (2 * TW_COLUMNS)
#define TW_FOURS_KEPT 3

/* What is the same for all pixels. */
typedef struct {
  const tw_conv_params *p;
  tw_way way;
  int32_t channels, fours;
  const int8_t *zeros; /* a pixel outside */
  const int8_t **at;   /* where the taps of a pixel are, [four][4] */
} work;

/* Some channels. */
typedef struct {
  int32_t first; /* of all */
  const int8_t *w;
  const int32_t *b, *mul, *add;
} block;

/* ---- results ---- */

TW_ALWAYS void store_any(const work *k, const block *f, int32_t count, const int32_t *total, TW_Y *y) {
  if (!k->p->requantised) {
    for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)total[i];
    return;
  }
  const tw_requant requant = k->p->requant;
  for (int32_t i = 0; i < count; i++) {
    y[i] = (TW_Y)tw_requantise(&requant, total[i], f->mul[i], f->add ? f->add[i] : 0);
  }
}

/* What turns totals of a block into results. */
typedef struct {
  tw_scaler scaler;
  tw_factors factors[2];
} scaling;

TW_ALWAYS scaling scaling_of(int halves, const work *k, const block *f) {
  scaling made;
  made.scaler = tw_scaler_of(&k->p->requant);
  if (k->way == TW_ANY_WAY) return made;
  made.factors[0] = made.factors[1] = tw_factors_of(&made.scaler, f->mul, f->add);
  if (halves == 2) {
    const int32_t *const add = f->add ? f->add + TW_COLUMNS : NULL;
    made.factors[1] = tw_factors_of(&made.scaler, f->mul + TW_COLUMNS, add);
  }
  return made;
}

/* Any way: totals have left their registers. */
TW_APART void store_totals(int halves, const work *k, const block *f, const scaling *s, const tw_sums *t, TW_Y *y) {
  if (sizeof(TW_Y) > 1 || k->way == TW_ANY_WAY) {
    int32_t total[TW_WIDE];
    for (int h = 0; h < halves; h++) tw_sums_store(total + h * TW_COLUMNS, t[h]);
    store_any(k, f, halves * TW_COLUMNS, total, y);
    return;
  }
  for (int h = 0; h < halves; h++) {
    tw_scale_rows(k->way, 1, &s->scaler, &s->factors[h], TW_IS_UNSIGNED(TW_Y), t + h, y + h * TW_COLUMNS, 0);
  }
}

TW_ALWAYS void store(tw_way way, int halves, const work *k, const block *f, const scaling *s, const tw_sums *t,
                     TW_Y *y) {
  if (sizeof(TW_Y) > 1 || !TW_IS_NEAR(way)) {
    store_totals(halves, k, f, s, t, y);
  } else if (halves == 2) {
    tw_scale_wide(way, &s->scaler, s->factors, TW_IS_UNSIGNED(TW_Y), t, y);
  } else {
    tw_scale_rows(way, 1, &s->scaler, s->factors, TW_IS_UNSIGNED(TW_Y), t, y, 0);
  }
}

TW_ALWAYS void start(int halves, const block *f, tw_sums *t) {
  TW_UNROLLED for (int h = 0; h < halves; h++) t[h] = tw_sums_load(f->b + h * TW_COLUMNS);
}

/* ---- windows of three columns ---- */

/* A row of windows: where the rows of the image begin, and how far it is from pixel to pixel; nowhere where the row is
 * outside. */
typedef struct {
  const int8_t *from[4];
  int32_t step[4];
} band;

TW_ALWAYS band band_of(const work *k, const int8_t *x, int32_t top) {
  const tw_conv_params *const p = k->p;
  band made;
  for (int32_t r = 0; r < 4; r++) {
    const int32_t row = top + r * p->dilation_h;
    const int is_row = r < p->kernel_h && row >= 0 && row < p->in_h;
    made.from[r] = is_row ? x + (int64_t)row * p->in_w * k->channels : k->zeros;
    made.step[r] = is_row ? k->channels : 0;
  }
  return made;
}

/* The rows of windows of three columns: what they share, the next columns and results. */
typedef struct {
  const work *k;
  const block *f;
  const int8_t *zeros;
  scaling s;
  tw_taps w[3];
  band rows;
  int32_t left; /* of the next column */
  TW_Y *y;
} walk;

TW_ALWAYS tw_taps next_column(int halves, int height, walk *at) {
  const int is_inside = (uint32_t)at->left < (uint32_t)at->k->p->in_w;
  const int8_t *x[4];
  TW_UNROLLED for (int r = 0; r < 4; r++) x[r] = is_inside ? at->rows.from[r < height ? r : 0] : at->zeros;
  TW_UNROLLED for (int r = 0; r < height; r++) at->rows.from[r] += at->rows.step[r];
  at->left++;
  return tw_taps_of(halves, x, TW_FLIP);
}

TW_ALWAYS void next_pixel(tw_way way, int halves, walk *at, const tw_taps *c0, const tw_taps *c1, const tw_taps *c2) {
  tw_sums t[2];
  start(halves, at->f, t);
  tw_multiply_taps(halves, t, c0, &at->w[0]);
  tw_multiply_taps(halves, t, c1, &at->w[1]);
  tw_multiply_taps(halves, t, c2, &at->w[2]);
  store(way, halves, at->k, at->f, &at->s, t, at->y);
  at->y += at->k->channels;
}

/* Pixels side by side share two columns. */
TW_ALWAYS void near_pixels(tw_way way, int halves, int height, walk *at, int32_t pixels) {
  tw_taps a = next_column(halves, height, at), b = next_column(halves, height, at), c;
  for (; pixels >= 3; pixels -= 3) {
    c = next_column(halves, height, at);
    next_pixel(way, halves, at, &a, &b, &c);
    a = next_column(halves, height, at);
    next_pixel(way, halves, at, &b, &c, &a);
    b = next_column(halves, height, at);
    next_pixel(way, halves, at, &c, &a, &b);
  }
  if (pixels == 0) return;
  c = next_column(halves, height, at);
  next_pixel(way, halves, at, &a, &b, &c);
  if (pixels == 1) return;
  a = next_column(halves, height, at);
  next_pixel(way, halves, at, &b, &c, &a);
}

/* With one between them they share one. */
TW_ALWAYS void far_pixels(tw_way way, int halves, int height, walk *at, int32_t pixels) {
  tw_taps a = next_column(halves, height, at);
  for (; pixels > 0; pixels -= 2) {
    tw_taps b = next_column(halves, height, at);
    const tw_taps c = next_column(halves, height, at);
    next_pixel(way, halves, at, &a, &b, &c);
    if (pixels == 1) return;
    b = next_column(halves, height, at);
    a = next_column(halves, height, at);
    next_pixel(way, halves, at, &c, &b, &a);
  }
}

/* Rows of results. */
typedef struct {
  int32_t first, end;
} span;

TW_ALWAYS void rows_of_pixels(tw_way way, int halves, int stride, int height, const work *k, const block *f,
                              const int8_t *x, span of, TW_Y *y) {
  const int32_t pixels = k->p->out_w, left = -k->p->pad_left;
  walk at;
  at.k = k;
  at.f = f;
  at.zeros = k->zeros + f->first;
  at.s = scaling_of(halves, k, f);
  TW_UNROLLED for (int i = 0; i < 3; i++) at.w[i] = tw_taps_load(f->w + i * 4 * TW_WIDE);
  for (int32_t row = of.first; row < of.end; row++) {
    at.rows = band_of(k, x, row * k->p->stride_h - k->p->pad_top);
    TW_UNROLLED for (int r = 0; r < height; r++) at.rows.from[r] += f->first + (int64_t)left * at.rows.step[r];
    at.left = left;
    at.y = y + (int64_t)row * pixels * k->channels;
    if (stride == 1) {
      near_pixels(way, halves, height, &at, pixels);
    } else {
      far_pixels(way, halves, height, &at, pixels);
    }
  }
}

#define TW_ROW_FUNCTION(NAME, WAY, HALVES, STRIDE, HEIGHT)                                      \
  TW_APART void NAME(const work *k, const block *f, const int8_t *x, span of, TW_Y *y) {        \
    rows_of_pixels(WAY, HALVES, STRIDE, HEIGHT, k, f, x, of, y);                                \
  }

TW_ROW_FUNCTION(wide_near_1, TW_NEAR_WAY, 2, 1, 3)
TW_ROW_FUNCTION(wide_near_2, TW_NEAR_WAY, 2, 2, 3)
TW_ROW_FUNCTION(half_near_1, TW_NEAR_WAY, 1, 1, 3)
TW_ROW_FUNCTION(half_near_2, TW_NEAR_WAY, 1, 2, 3)
#if TW_HAS_DOUBLE_WAYS
TW_ROW_FUNCTION(wide_double_1, TW_NEAR_DOUBLE_WAY, 2, 1, 3)
TW_ROW_FUNCTION(wide_double_2, TW_NEAR_DOUBLE_WAY, 2, 2, 3)
TW_ROW_FUNCTION(half_double_1, TW_NEAR_DOUBLE_WAY, 1, 1, 3)
TW_ROW_FUNCTION(half_double_2, TW_NEAR_DOUBLE_WAY, 1, 2, 3)
TW_ROW_FUNCTION(wide_double_up_1, TW_NEAR_DOUBLE_UP_WAY, 2, 1, 3)
TW_ROW_FUNCTION(wide_double_up_2, TW_NEAR_DOUBLE_UP_WAY, 2, 2, 3)
TW_ROW_FUNCTION(half_double_up_1, TW_NEAR_DOUBLE_UP_WAY, 1, 1, 3)
TW_ROW_FUNCTION(half_double_up_2, TW_NEAR_DOUBLE_UP_WAY, 1, 2, 3)
#endif
TW_ROW_FUNCTION(wide_any_1, TW_ANY_WAY, 2, 1, 4)
TW_ROW_FUNCTION(wide_any_2, TW_ANY_WAY, 2, 2, 4)
TW_ROW_FUNCTION(half_any_1, TW_ANY_WAY, 1, 1, 4)
TW_ROW_FUNCTION(half_any_2, TW_ANY_WAY, 1, 2, 4)

static void some_rows(int halves, const work *k, const block *f, const int8_t *x, span of, TW_Y *y) {
  typedef void row_function(const work *, const block *, const int8_t *, span, TW_Y *);
  static row_function *const functions[][2][2] = {
      {{half_any_1, half_any_2}, {wide_any_1, wide_any_2}},
      {{half_near_1, half_near_2}, {wide_near_1, wide_near_2}},
#if TW_HAS_DOUBLE_WAYS
      {{half_double_1, half_double_2}, {wide_double_1, wide_double_2}},
      {{half_double_up_1, half_double_up_2}, {wide_double_up_1, wide_double_up_2}},
#endif
  };
  const int is_near = TW_IS_NEAR(k->way) && k->p->kernel_h <= 3;
  const int way = !is_near ? 0 : k->way == TW_NEAR_WAY ? 1 : k->way == TW_NEAR_DOUBLE_WAY ? 2 : 3;
  functions[way][halves - 1][k->p->stride_w - 1](k, f, x, of, y);
}

/* ---- any windows ---- */

/* Where the taps of a pixel are, in the order of the weights. */
static void point_to_taps(const work *k, const int8_t *x, int32_t top, int32_t left) {
  const tw_conv_params *const p = k->p;
  const int by_columns = tw_is_by_columns(p);
  for (int32_t i = 0; i < 4 * k->fours; i++) k->at[i] = k->zeros;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t row = top + r * p->dilation_h;
    if (row < 0 || row >= p->in_h) continue;
    for (int32_t c = 0; c < p->kernel_w; c++) {
      const int32_t column = left + c * p->dilation_w;
      if (column < 0 || column >= p->in_w) continue;
      k->at[by_columns ? 4 * c + r : r * p->kernel_w + c] = x + ((int64_t)row * p->in_w + column) * k->channels;
    }
  }
}

TW_ALWAYS void one_pixel(int halves, const work *k, const block *f, TW_Y *y) {
  const scaling s = scaling_of(halves, k, f);
  tw_sums t[2];
  start(halves, f, t);
  for (int32_t i = 0; i < k->fours; i++) {
    const int8_t *const x[4] = {k->at[4 * i] + f->first, k->at[4 * i + 1] + f->first, k->at[4 * i + 2] + f->first,
                                k->at[4 * i + 3] + f->first};
    const tw_taps taps = tw_taps_of(halves, x, TW_FLIP), w = tw_taps_load(f->w + i * 4 * TW_WIDE);
    tw_multiply_taps(halves, t, &taps, &w);
  }
  store_totals(halves, k, f, &s, t, y);
}

TW_APART void wide_pixel(const work *k, const block *f, TW_Y *y) { one_pixel(2, k, f, y); }

TW_APART void half_pixel(const work *k, const block *f, TW_Y *y) { one_pixel(1, k, f, y); }

/* ---- fewer channels than a block has ---- */

/* A block of as many pixels as fit: what belongs to the channels, once for each pixel. */
typedef struct {
  int32_t pixels;
  int64_t apart[4 * TW_FOURS_KEPT]; /* taps from the first of a window; weights of others than taps are zero */
  int8_t w[TW_FOURS_KEPT][4 * TW_WIDE];
  int32_t b[TW_COLUMNS], mul[TW_COLUMNS], add[TW_COLUMNS];
} repeated;

static int fits_repeated(const work *k) { return 2 * k->channels <= TW_COLUMNS && k->fours <= TW_FOURS_KEPT; }

static void repeat(const work *k, const block *f, repeated *to) {
  to->pixels = TW_COLUMNS / k->channels;
  memset(to->w, 0, sizeof to->w);
  for (int32_t lane = 0; lane < TW_COLUMNS; lane++) {
    const int32_t c = lane % k->channels;
    for (int32_t i = 0; i < k->fours; i++) memcpy(to->w[i] + 4 * lane, f->w + (i * TW_WIDE + c) * 4, 4);
    to->b[lane] = f->b[c];
    to->mul[lane] = f->mul ? f->mul[c] : 0;
    to->add[lane] = f->add ? f->add[c] : 0;
  }
  const tw_conv_params *const p = k->p;
  const int by_columns = tw_is_by_columns(p);
  memset(to->apart, 0, sizeof to->apart);
  for (int32_t r = 0; r < p->kernel_h; r++) {
    for (int32_t c = 0; c < p->kernel_w; c++) {
      to->apart[by_columns ? 4 * c + r : r * p->kernel_w + c] =
          ((int64_t)r * p->dilation_h * p->in_w + c * p->dilation_w) * k->channels;
    }
  }
}

/* Where the taps of a pixel are; in most windows all are inside. */
TW_ALWAYS void point_from_first(const work *k, const repeated *of, const int8_t *x, int32_t top, int32_t left) {
  const tw_conv_params *const p = k->p;
  const int32_t bottom = top + (p->kernel_h - 1) * p->dilation_h, right = left + (p->kernel_w - 1) * p->dilation_w;
  if (top < 0 || left < 0 || bottom >= p->in_h || right >= p->in_w) {
    point_to_taps(k, x, top, left);
    return;
  }
  const int8_t *const first = x + ((int64_t)top * p->in_w + left) * k->channels;
  for (int32_t i = 0; i < 4 * k->fours; i++) k->at[i] = first + of->apart[i];
}

/* The channels of all taps of a pixel, `bytes` of each. */
TW_ALWAYS void copy_bytes(int32_t bytes, const work *k, int8_t (*taps)[TW_COLUMNS], int32_t pixel) {
  for (int32_t i = 0; i < 4 * k->fours; i++) memcpy(taps[i] + pixel * bytes, k->at[i], (size_t)bytes);
}

TW_ALWAYS void copy_taps(const work *k, int8_t (*taps)[TW_COLUMNS], int32_t pixel) {
  if (k->channels == 16) {
    copy_bytes(16, k, taps, pixel);
  } else if (k->channels == 8) {
    copy_bytes(8, k, taps, pixel);
  } else {
    copy_bytes(k->channels, k, taps, pixel);
  }
}

/* Some neighbours in the order of the results, at most a block of them. */
TW_APART void repeated_pixels(const work *k, const repeated *of, const block *f, int8_t (*taps)[TW_COLUMNS],
                              int32_t pixels, TW_Y *y) {
  const block lanes = {0, f->w, of->b, f->mul ? of->mul : NULL, f->add ? of->add : NULL};
  const scaling s = scaling_of(1, k, &lanes);
  TW_Y made[TW_COLUMNS];
  tw_sums t[1];
  start(1, &lanes, t);
  for (int32_t i = 0; i < k->fours; i++) {
    const int8_t *const x[4] = {taps[4 * i], taps[4 * i + 1], taps[4 * i + 2], taps[4 * i + 3]};
    const tw_taps four = tw_taps_of(1, x, TW_FLIP), w = tw_taps_load(of->w[i]);
    tw_multiply_taps(1, t, &four, &w);
  }
  store_totals(1, k, &lanes, &s, t, made);
  memcpy(y, made, (size_t)(pixels * k->channels) * sizeof *y);
}

/* One pixel, where weights are many or two pixels do not fit a block. */
TW_APART void few_channels(const work *k, const block *f, TW_Y *y) {
  int32_t total[TW_COLUMNS];
  for (int32_t c = 0; c < k->channels; c++) {
    total[c] = f->b[c];
    for (int32_t i = 0; i < 4 * k->fours; i++) {
      total[c] += (int8_t)(k->at[i][c] ^ TW_FLIP) * f->w[(i / 4 * TW_WIDE + c) * 4 + i % 4];
    }
  }
  store_any(k, f, k->channels, total, y);
}

/* ---- all of it ---- */

/* The channels from one on: how many rows of TW_COLUMNS of them make a block, and where it begins. */
typedef struct {
  int32_t first, halves;
} part;

static part part_at(int32_t done, int32_t channels) {
  const int32_t left = channels - done;
  part made = {done, 2};
  if (left >= TW_WIDE) return made;
  made.halves = left <= TW_COLUMNS || channels < TW_WIDE ? 1 : 2;
  if (left < made.halves * TW_COLUMNS) made.first = channels - made.halves * TW_COLUMNS;
  return made;
}

static block block_of(const block *all, part at) {
  const block made = {at.first, all->w, all->b + at.first, all->mul ? all->mul + at.first : NULL,
                      all->add ? all->add + at.first : NULL};
  return made;
}

/* Some rows, or where there are none one pixel. */
static void all_channels(const work *k, block all, const int8_t *x, span of, TW_Y *y) {
  for (int32_t done = 0; done < k->channels;) {
    const part at = part_at(done, k->channels);
    const block f = block_of(&all, at);
    if (of.first < of.end) {
      some_rows(at.halves, k, &f, x, of, y + at.first);
    } else {
      (at.halves == 2 ? wide_pixel : half_pixel)(k, &f, y + at.first);
    }
    done = at.first + at.halves * TW_COLUMNS;
    all.w += (int64_t)k->fours * 4 * TW_WIDE;
  }
}

static int has_three_columns(const work *k) {
  const tw_conv_params *const p = k->p;
  return p->kernel_w == 3 && p->kernel_h >= 2 && p->kernel_h <= 4 && p->dilation_w == 1 && p->stride_w <= 2 &&
         k->channels >= TW_COLUMNS;
}

static void by_rows(const work *k, const block *all, const int8_t *x, TW_Y *y, int32_t strip) {
  for (int32_t row = 0; row < k->p->out_h; row += strip) {
    const span some = {row, tw_min(row + strip, k->p->out_h)};
    all_channels(k, *all, x, some, y);
  }
}

static void by_pixels(const work *k, const block *all, const int8_t *x, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  const span none = {0, 0};
  for (int32_t i = 0; i < p->out_h * p->out_w; i++, y += k->channels) {
    point_to_taps(k, x, i / p->out_w * p->stride_h - p->pad_top, i % p->out_w * p->stride_w - p->pad_left);
    if (k->channels < TW_COLUMNS) {
      few_channels(k, all, y);
    } else {
      all_channels(k, *all, x, none, y);
    }
  }
}

static void by_repeated(const work *k, const block *all, const int8_t *x, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  const int32_t count = p->out_h * p->out_w;
  int8_t taps[4 * TW_FOURS_KEPT][TW_COLUMNS];
  repeated of;
  repeat(k, all, &of);
  memset(taps, 0, sizeof taps);
  for (int32_t first = 0; first < count; first += of.pixels, y += of.pixels * k->channels) {
    const int32_t pixels = tw_min(of.pixels, count - first);
    for (int32_t i = 0; i < pixels; i++) {
      const int32_t row = (first + i) / p->out_w, column = (first + i) % p->out_w;
      point_from_first(k, &of, x, row * p->stride_h - p->pad_top, column * p->stride_w - p->pad_left);
      copy_taps(k, taps, i);
    }
    repeated_pixels(k, &of, all, taps, pixels, y);
  }
}

void TW_NAME(const tw_conv_dot_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t channels = p->groups, fours = tw_tap_fours(p);
  const int8_t **const at = scratch;
  int8_t *const zeros = (int8_t *)(at + 4 * fours);
  const work k = {p, (tw_way)params->way, channels, fours, zeros, at};
  const block all = {0, w, b, mul, add};
  memset(zeros, p->x_zero, (size_t)channels);
  for (int32_t image = 0; image < p->batch; image++) {
    const int8_t *const from = (const int8_t *)x + (int64_t)image * p->in_h * p->in_w * channels;
    TW_Y *const to = y + (int64_t)image * p->out_h * p->out_w * channels;
    if (has_three_columns(&k)) {
      by_rows(&k, &all, from, to, params->strip);
    } else if (fits_repeated(&k)) {
      by_repeated(&k, &all, from, to);
    } else {
      by_pixels(&k, &all, from, to);
    }
  }
}
