/* The cores make results from what N-EUREKA has left. Each takes some pixels of four neighbouring filters at a time.
 *
 * Biases are four rows: of pixels inside, at the right edge, at the bottom, at both; or one row for all. All pixels are
 * made with the first; those at edges are then made again. */
#ifndef TW_NEUREKA_FINISH_H
#define TW_NEUREKA_FINISH_H

#include "cluster.h"
#include "neureka_runs.h"

typedef struct {
  const tw_neureka_finished_params *p;
  const int32_t *totals, *bias, *mul, *add;
  TW_Y *y;
  int32_t filter; /* the first */
  int32_t count;  /* of filters: 4, or 1 where a layer has fewer than 4 */
} tw_finishing;

/* ---- pixels that have one bias ---- */

static inline int32_t tw_finish_one(const tw_neureka_finished_params *p, int32_t total, const int32_t *mul, const int32_t *add) {
  if (p->mode == TW_FINISH_PLAIN) return total;
  if (p->mode == TW_FINISH_EXACT) return tw_requantise(&p->requant, total, *mul, add ? *add : 0);
  return tw_run_result(p, total, *mul, add ? *add : 0);
}

/* One by one: few filters, words as results, or 64 bits. */
static TW_COMPACT void tw_finish_exactly(const tw_finishing *k, const tw_run *r) {
  const uint8_t *from = r->from;
  uint8_t *to = r->to;
  for (int32_t row = 0; row < r->rows; row++, from += r->from_gap) {
    for (int32_t x = 0; x < r->columns; x++, from += r->from_step, to += r->to_step) {
      for (int32_t i = 0; i < k->count; i++) {
        const int32_t total = ((const int32_t *)(const void *)from)[i] + r->bias[i];
        ((TW_Y *)(void *)to)[i] = (TW_Y)tw_finish_one(k->p, total, r->mul + i, r->add ? r->add + i : 0);
      }
    }
  }
}

static TW_COMPACT void tw_finish_run(const tw_finishing *k, const tw_run *r) {
  if (sizeof(TW_Y) != 1 || k->count < 4 || k->p->mode == TW_FINISH_EXACT) {
    tw_finish_exactly(k, r);
  } else {
    tw_run_all(k->p, r);
  }
}

/* ---- rows of an image ---- */

/* Pixels at the bottom, then those at the right, then the corner, once more with their biases. */
static inline void tw_finish_edges(const tw_finishing *k, tw_run r, int32_t rows, int is_bottom) {
  const tw_neureka_finished_params *const p = k->p;
  const int32_t columns = p->columns, filters = p->filters;
  const int32_t from_row = p->source_row * (int32_t)sizeof(int32_t), to_row = columns * r.to_step;
  const uint8_t *const corner = r.from + (rows - 1) * from_row + (columns - 1) * r.from_step;
  uint8_t *const to_corner = r.to + rows * to_row - r.to_step;
  const int32_t *const bias = r.bias;
  tw_run edge = r;
  edge.rows = 1;
  if (is_bottom) {
    edge.columns = columns, edge.bias = bias + 2 * filters;
    edge.from = corner - (columns - 1) * r.from_step, edge.to = to_corner - to_row + r.to_step;
    tw_finish_run(k, &edge);
  }
  if (!p->over_right) return;
  edge.columns = rows - is_bottom, edge.bias = bias + filters;
  edge.from = corner - (rows - 1) * from_row, edge.to = to_corner - (rows - 1) * to_row;
  edge.from_step = from_row, edge.to_step = to_row;
  tw_finish_run(k, &edge);
  if (!is_bottom) return;
  edge.columns = 1, edge.bias = bias + 3 * filters, edge.from = corner, edge.to = to_corner;
  tw_finish_run(k, &edge);
}

static inline void tw_finish_rows(const tw_finishing *k, tw_run *r, int32_t image, int32_t first, int32_t end) {
  const tw_neureka_finished_params *const p = k->p;
  r->from = (const uint8_t *)(k->totals + image * p->source_image + first * p->source_row + k->filter);
  r->to = (uint8_t *)(k->y + (image * p->rows + first) * p->columns * p->filters + k->filter);
  r->columns = p->columns, r->rows = end - first;
  if (r->from_gap == 0) r->columns *= r->rows, r->rows = 1;
  tw_finish_run(k, r);
  const int is_bottom = p->over_bottom && end == p->rows;
  if (is_bottom || p->over_right) tw_finish_edges(k, *r, end - first, is_bottom);
}

/* ---- all ---- */

/* Rows from `first` to before `end`, counted over all images, of some filters. */
static inline void tw_finish_filters(tw_finishing *k, int32_t filter, int32_t first, int32_t end) {
  const tw_neureka_finished_params *const p = k->p;
  const int32_t rows = p->rows;
  tw_run r;
  k->filter = filter;
  r.bias = k->bias + filter, r.mul = k->mul + filter, r.add = k->add ? k->add + filter : 0;
  r.from_step = p->source_pixel * (int32_t)sizeof(int32_t), r.to_step = p->filters * (int32_t)sizeof(TW_Y);
  r.from_gap = (p->source_row - p->columns * p->source_pixel) * (int32_t)sizeof(int32_t);
  for (int32_t image = 0; first < end; image++, first -= rows, end -= rows) {
    if (first >= rows) continue;
    tw_finish_rows(k, &r, image, first, tw_x_min(end, rows));
    first = rows;
  }
}

/* count / parts, where parts are teams or the cores of a team. */
static inline int32_t tw_finish_divided(int32_t count, int32_t parts) {
  if (parts == TW_CORES) return (int32_t)((uint32_t)count / TW_CORES);
  return count >> tw_x_ff1((uint32_t)parts);
}

/* A run takes as long as so many pixels more. */
#define TW_RUN_PIXELS 6

/* How many teams of cores share the groups of filters; the cores of a team share the rows. Each core alone, or as many
 * teams as share the groups evenly: all cores are one, or where they are a power of two some power of two. Divisions by
 * other numbers would take long. */
static inline int32_t tw_finish_teams(int32_t groups, int32_t pixels) {
  const int32_t even = TW_CORES & (TW_CORES - 1) ? 1 : groups & -groups;
  if (groups % TW_CORES == 0 || even >= TW_CORES) return TW_CORES;
  const int32_t own = tw_finish_divided(pixels, tw_finish_divided(TW_CORES, even)) + TW_RUN_PIXELS;
  const int32_t alone = (groups + TW_CORES - 1) / TW_CORES * (pixels + TW_RUN_PIXELS);
  return alone <= tw_finish_divided(groups, even) * own ? TW_CORES : even;
}

static inline void tw_finish_totals(tw_finishing *k) {
  const tw_neureka_finished_params *const p = k->p;
  k->count = p->filters < 4 ? 1 : 4;
  const int32_t groups = k->count == 4 ? (p->filters + 3) >> 2 : p->filters, rows = p->images * p->rows;
  const int32_t teams = tw_finish_teams(groups, rows * p->columns), size = tw_finish_divided(TW_CORES, teams);
  const int32_t team = tw_finish_divided(tw_core(), size), member = tw_core() - team * size;
  const int32_t first = tw_finish_divided(rows * member, size), end = tw_finish_divided(rows * (member + 1), size);
  const int32_t last = tw_finish_divided(groups * (team + 1), teams);
  for (int32_t group = tw_finish_divided(groups * team, teams); group < last; group++) {
    /* The last group has some filters of the one before, with the same results. */
    tw_finish_filters(k, tw_x_min(group * k->count, p->filters - k->count), first, end);
  }
}

/* ---- results that are only copied ---- */

static inline void tw_finish_copy_pixel(uint8_t *to, const uint8_t *from, int32_t bytes) {
  for (; bytes >= 16; bytes -= 16, to += 16, from += 16) {
    const uint32_t a = tw_x_load(from), b = tw_x_load(from + 4), c = tw_x_load(from + 8), d = tw_x_load(from + 12);
    tw_x_store(to, a);
    tw_x_store(to + 4, b);
    tw_x_store(to + 8, c);
    tw_x_store(to + 12, d);
  }
  for (; bytes >= 4; bytes -= 4, to += 4, from += 4) tw_x_store(to, tw_x_load(from));
  for (; bytes > 0; bytes--) *to++ = *from++;
}

static inline void tw_finish_copy(const tw_neureka_finished_params *p, const TW_Y *from, TW_Y *y) {
  const tw_share share = tw_share_of(p->images * p->rows * p->columns);
  int32_t row = (int32_t)((uint32_t)share.first / (uint32_t)p->columns), x = share.first - row * p->columns;
  int32_t image = (int32_t)((uint32_t)row / (uint32_t)p->rows);
  row -= image * p->rows;
  for (int32_t i = share.first; i < share.end; i++) {
    const TW_Y *const pixel = from + image * p->source_image + row * p->source_row + x * p->source_pixel;
    tw_finish_copy_pixel((uint8_t *)(y + i * p->filters), (const uint8_t *)pixel, p->filters * (int32_t)sizeof(TW_Y));
    if (++x < p->columns) continue;
    x = 0;
    if (++row == p->rows) row = 0, image++;
  }
}

static inline void tw_finish_all(const tw_neureka_finished_params *p, const int32_t *mul, const int32_t *bias,
                                 const int32_t *add, TW_Y *y, const void *scratch) {
  if (p->mode == TW_FINISH_COPY) {
    tw_finish_copy(p, scratch, y);
    return;
  }
  tw_finishing k;
  k.p = p, k.totals = scratch, k.bias = bias, k.mul = mul, k.add = add, k.y = y;
  tw_finish_totals(&k);
}

#endif
