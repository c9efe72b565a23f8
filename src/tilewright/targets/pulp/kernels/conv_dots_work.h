/* Units of work of convolutions and pools with the channels last: those of the core that has most. */
#ifndef TW_CONV_DOTS_WORK_H
#define TW_CONV_DOTS_WORK_H

#include "conv_dots_sizes.h"
#include "conv_tile.h"
#include "depthwise_down_rows.h"
#include "pool.h"
#include "requant_work.h"

/* Channels, rows and columns of taps; results of a channel. */
typedef struct {
  int64_t c, r, s, rest;
} tw_pool_loops;

/* A tile, whose image reaches as far as its windows, or less where they reach beyond the layer's image. */
static inline tw_conv_params tw_dots_tile(const tw_conv_params *p, const tw_conv_loops *tile) {
  tw_conv_params t = tw_conv_tile(p, tile);
  t.in_h = (int32_t)tw_seen_rows(&t) - tw_reaches_beyond(p);
  t.in_w = (int32_t)tw_seen_columns(&t) - tw_reaches_beyond(p);
  return t;
}

/* ---- windows along an axis of the layer's image ---- */

typedef struct {
  int64_t left, right, count; /* that begin before the image, that only end behind it, and all */
} tw_windows_outside;

static inline tw_windows_outside tw_outside_of(int64_t size, int64_t count, int64_t taps, int64_t stride, int64_t dilation, int64_t before) {
  const int64_t left = tw_least(tw_up(before, stride), count), end = tw_most(size - (taps - 1) * dilation + before, 0);
  const tw_windows_outside found = {left, count - tw_most(left, tw_least(tw_up(end, stride), count)), count};
  return found;
}

static inline tw_windows_outside tw_outside_columns(const tw_conv_params *p) {
  return tw_outside_of(p->in_w, p->out_w, p->kernel_w, p->stride_w, p->dilation_w, p->pad_left);
}

static inline double tw_inside_share(tw_windows_outside o) { return (double)tw_most(o.count - o.left - o.right, 0) / (double)o.count; }

/* Of so many windows, those that lie in the image, as far as the layer's do. */
static inline double tw_windows_inside(const tw_conv_params *p, double windows) {
  const tw_windows_outside rows = tw_outside_of(p->in_h, p->out_h, p->kernel_h, p->stride_h, p->dilation_h, p->pad_top);
  return windows * tw_inside_share(rows) * tw_inside_share(tw_outside_columns(p));
}

/* ---- dense convolutions of bytes ---- */

/* What the core with most has of each group: blocks of four pixels and filters, strips of such blocks, windows or pieces of rows. */
typedef struct {
  int64_t blocks, strips, windows;
} tw_dealt;

static inline int tw_is_fair(int64_t count, int64_t cores) { return count % cores == 0 || count >= 6 * cores; }

/* As strips() in conv_dots.c. */
static inline tw_dealt tw_deal_strips(const tw_conv_params *t, int64_t quads, int64_t chunk, int32_t cores) {
  const int64_t pieces = (int64_t)t->batch * t->out_h * tw_up(t->out_w, chunk);
  int64_t parts = 1;
  while (parts < quads && !(tw_is_fair(pieces * parts, cores) && quads % parts == 0)) parts++;
  const int64_t units = tw_up(pieces * parts, cores);
  const tw_dealt found = {units * quads / parts * tw_up(chunk, 4), units * quads / parts, units};
  return found;
}

/* As deal_out() in conv_dots.c. */
static inline tw_dealt tw_deal_out(int64_t pixels, int64_t quads, int64_t chunk, int32_t cores) {
  const int64_t blocks = tw_up(pixels, 4);
  if (tw_is_fair(quads, cores)) {
    const int64_t own = tw_up(quads, cores);
    const tw_dealt by_filters = {blocks * own, own * tw_up(pixels, cores * chunk), tw_up(pixels, cores)};
    return by_filters;
  }
  if (tw_is_fair(blocks, cores)) {
    const int64_t own = tw_up(blocks, cores);
    const tw_dealt by_pixels = {own * quads, quads * tw_up(4 * own, chunk), 4 * own};
    return by_pixels;
  }
  const int64_t parts = tw_least(quads, cores), units = tw_up(blocks * parts, cores);
  const tw_dealt by_both = {units * tw_up(quads, parts), units * tw_up(quads, parts), 4 * units};
  return by_both;
}

/* The call; strips and blocks of four pixels and filters, those that are requantised, their words and what is left of them; results
 * alone, those that are requantised, and their words; of windows that are gathered those within the image, their rows that are no
 * single words and words of rows, others and their taps; words of an image that is copied with its padding, which then has all
 * windows within it; filters prepared, those whose requantisation is looked at and their words, and words of copies of filters;
 * results that are requantised in 64 bits, and blocks by the high words of products; of windows that are left in the image the runs,
 * rows copied and words. */
static inline int64_t tw_conv_dots_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, int32_t add_bytes,
                                        double *units) {
  const tw_conv_params t = tw_dots_tile(p, tile);
  const int64_t groups = tile->g, filters = tile->f, rows = tile->r, quads = tw_up(filters, 4);
  const int64_t pixels = tile->n * tile->y * tile->x, length = tile->c * rows * tile->s, chunk = tw_conv_dots_chunk(&t);
  const int as_matrix = tw_conv_is_pointwise(&t), in_strips = (int)tw_conv_dots_strips(&t), is_requantised = p->requantised != 0;
  const tw_dealt dealt = in_strips ? tw_deal_strips(&t, quads, chunk, cores) : tw_deal_out(pixels, quads, chunk, cores);
  const int64_t words = as_matrix ? length / 4 : in_strips ? tile->s * tw_up(tile->c, 4) * rows : tw_up(length, 4);
  const int64_t alone = filters < 4 || pixels < 4 ? 4 * dealt.blocks * filters * groups : 0, some = alone ? 0 : dealt.blocks * groups;
  const int64_t windows = as_matrix || in_strips ? 0 : dealt.windows * groups;
  const int64_t padded = tw_padded_image(&t), run = tile->c * tile->s;
  const int has_runs = groups == 1 && (p->dilation_w == 1 || tile->s == 1);
  const double within = has_runs ? (double)windows * (padded ? 1.0 : tw_windows_inside(p, 1.0)) : 0, others = (double)windows - within;
  const int64_t copied = in_strips && !tw_windows_are_inside(&t) ? dealt.windows * rows : 0;
  const int64_t prepared = tw_up(groups * quads, cores), looked_at = tw_is_looked_at(p->requantised, &p->requant) ? prepared : 0;
  const int64_t filled = (in_strips ? tile->c : length) % 4 ? tw_up(groups * filters, cores) * words : 0;
  TW_UNITS(1, dealt.strips * groups, some, some * is_requantised, some * words, as_matrix ? some * (length % 4) : 0, alone,
           alone * is_requantised, alone * words, within, run != 4 ? within * (double)rows : 0, within * (double)rows * (double)tw_up(run, 4), others,
           others * (double)rows * (double)tile->s, windows > 0 ? (double)tw_up(padded, 4) / cores : 0, prepared, looked_at, looked_at * words, filled,
           tw_is_one_by_one(p->requantised, &p->requant, p->w_zero, add_bytes) ? 16 * some + alone : 0,
           tw_is_high_word(p->requantised, &p->requant, add_bytes) ? some : 0, in_strips ? some * rows : 0, copied,
           copied ? copied * tw_strip_words(&t, (int32_t)chunk) : 0);
}

/* ---- depthwise convolutions of bytes ---- */

/* Of the core that has most: pieces of four channels, rows of results of four channels and rows of their input; rows of results at a
 * time, bytes of a plane; of a row of the input four pixels at a time, and pixels that are left of it. */
typedef struct {
  int64_t own, lines, read, rows, filled, fours, rest;
} tw_depthwise_pieces;

/* Pieces are made for all cores, however many of them compute. */
static inline tw_depthwise_pieces tw_depthwise_pieces_of(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores,
                                                         int32_t all_cores) {
  tw_conv_params t = tw_conv_tile(p, tile);
  if (t.out_w != p->out_w) t.in_w = t.out_w * p->stride_w; /* that a tile reads, about */
  const int64_t rows = tw_depthwise_chunk(&t, all_cores), strips = tw_up(t.out_h, rows), quads = tile->n * tw_up(tile->g, 4);
  const int64_t own = tw_up(quads * strips, cores), reach = tw_plane_rows(&t, 1);
  /* The last strip may be a short one: a core does not have more than all there is. */
  const int64_t lines = tw_least(own * rows, quads * t.out_h);
  /* Rows beyond the image are not loaded. */
  const int is_whole = strips == 1 && tw_reaches_beyond(p) && (int64_t)p->out_h * p->out_w == tile->y * tile->x;
  const tw_depthwise_pieces found = {
      own, lines, lines * p->stride_h + (is_whole ? 0 : own * (reach - p->stride_h)), rows,
      tw_plane_pitch(&t) * tw_plane_rows(&t, rows), t.in_w / 4, t.in_w % 4,
  };
  return found;
}

/* The call, words that planes are filled with; pieces of four channels, those whose requantisation is looked at, and of their input
 * four pixels at a time and those left of them; turns of outer loops, pairs of results and results alone, and the same of planes that
 * are walked down; where filters are not of three rows the rows and words of taps; results that are requantised in 64 bits, and by
 * the high words of products. */
static inline int64_t tw_depthwise_dots_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, int32_t all_cores,
                                             int32_t add_bytes, double *units) {
  const tw_depthwise_pieces k = tw_depthwise_pieces_of(p, tile, cores, all_cores);
  const int64_t taps = tile->s, width = tile->x, results = k.lines * width;
  const int exact = tw_is_exact(p->requantised, &p->requant, add_bytes);
  const int is_fast = tile->r == 3 && taps <= 4 && p->requantised && !exact;
  const int is_high = is_fast && tw_is_high_word(p->requantised, &p->requant, add_bytes);
  const int64_t pairs = p->stride_w == 1 && taps <= 3 ? width / 2 : 0, alone = width - 2 * pairs;
  const int is_down = p->stride_h == 1 && p->stride_w == 1 && (tile->r - 1) * p->dilation_h == 2 && k.rows >= TW_LEAST_DOWN && !is_high;
  const int64_t turns = k.own * (is_down ? pairs + alone : tw_least(k.rows, pairs) + tw_least(k.rows, alone));
  const int across = is_fast && !is_down, down = is_fast && is_down;
  TW_UNITS(1, k.filled, k.own, tw_is_looked_at(p->requantised, &p->requant) ? k.own : 0, k.read * k.fours, k.read * k.rest,
           across * turns, across * k.lines * pairs, across * k.lines * alone, down * turns, down * k.lines * pairs,
           down * k.lines * alone, is_fast ? 0 : k.lines, is_fast ? 0 : results * tile->r * tw_up(taps, 4), exact * results,
           is_high * results);
}

/* The call, bytes that planes are filled with; pieces of four channels, those whose requantisation is looked at, and of their input
 * four pixels at a time and those left of them; rows of results, pairs of results and their rows of taps, results alone and their
 * rows of taps, a word or two each; results of 16 bits; the words of taps of those that are requantised in 64 bits, and those
 * results. */
static inline int64_t tw_depthwise_windows_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, int32_t all_cores,
                                                int32_t add_bytes, int32_t y_bytes, double *units) {
  const tw_depthwise_pieces k = tw_depthwise_pieces_of(p, tile, cores, all_cores);
  const int64_t taps = tile->s, rows = tile->r, width = tile->x, words = tw_up(taps, 4);
  const int is_fast = !tw_is_exact(p->requantised, &p->requant, add_bytes) || (y_bytes == 2 && !add_bytes);
  const int64_t pairs = p->stride_w == 1 && taps > 4 && taps < 8 ? width / 2 : 0, alone = width - 2 * pairs;
  const int64_t quick = is_fast ? k.lines : 0, slow = is_fast ? 0 : k.lines * width;
  TW_UNITS(1, k.filled, k.own, tw_is_looked_at(p->requantised, &p->requant) ? k.own : 0, k.read * k.fours, k.read * k.rest, quick,
           quick * pairs, quick * pairs * rows, quick * alone, words == 1 ? quick * alone * rows : 0,
           words == 2 ? quick * alone * rows : 0, y_bytes == 2 ? k.lines * width : 0, slow * rows * words, slow);
}

/* ---- floats ---- */

/* Windows of a core whose rows have gaps, or reach beyond the image to the left or right: of a long image, those at one end are all
 * in few cores. */
static inline double tw_copied_windows(const tw_conv_params *p, const tw_conv_loops *tile, int64_t blocks, int64_t columns) {
  if (tile->g > 1 || p->dilation_w > 1) return 4.0 * (double)blocks;
  const tw_windows_outside o = tw_outside_columns(p);
  if (4 * blocks >= tile->x * columns) return 4.0 * (double)blocks * (double)(o.left + o.right) / (double)o.count;
  const int64_t most = tw_most(o.left, o.right);
  return (double)tw_least(blocks * tw_least(most, 4), most * columns);
}

/* The call, blocks of four pixels and filters, rows of windows that are met one by one, products, and where cores share adders; of
 * what is copied, as it is no run of the image or once for all filters, the taps and elements. */
static inline int64_t tw_conv_blocks_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, double *units) {
  const int64_t columns = tile->g * tw_up(tile->f, 4), blocks = tw_up(tw_up(tile->n * tile->y * tile->x, 4) * columns, cores);
  const int is_whole = tw_conv_blocks_window(p) > p->kernel_w * p->in_channels;
  const int are_runs = p->groups == 1 && (is_whole || tw_conv_is_one_tap(p)) && tile->f >= 4;
  const int64_t rows = are_runs ? 0 : is_whole ? blocks : blocks * tile->r, products = blocks * tile->r * tile->s * tile->c;
  const double windows = is_whole ? 4.0 * (double)tw_up(blocks, columns) : tw_copied_windows(p, tile, blocks, columns);
  const double copied = windows * (double)tile->r * (double)tile->s;
  TW_UNITS(1, blocks, rows, products, cores > 1 ? products : 0, copied, copied * (double)tile->c);
}

/* ---- pools ---- */

/* The call, pixels, taps of their windows, and of these eight channels at a time and those left of them. */
static inline int64_t tw_maxpool_bytes_work(const tw_pool_params *p, const tw_pool_loops *tile, int32_t cores, double *units) {
  const int64_t pixels = tw_up(tile->rest, cores), taken = pixels * tile->r * tile->s;
  (void)p;
  TW_UNITS(1, pixels, taken, taken * (tile->c / 8), taken * (tile->c % 8));
}

#endif
