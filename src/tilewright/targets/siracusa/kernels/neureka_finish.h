/* The cores make results from what N-EUREKA has left. Each takes pixels of four neighbouring filters at a time, whose
 * requantisation is prepared once (columns.h).
 *
 * Biases are four rows: of pixels inside, at the right edge, at the bottom, at both; or one row for all. */
#ifndef TW_NEUREKA_FINISH_H
#define TW_NEUREKA_FINISH_H

#include "cluster.h"
#include "columns.h"
#include "neureka_finished.h"

#define TW_Y_SIGNED ((TW_Y)-1 < 0)

typedef struct {
  const tw_neureka_finished_params *p;
  const int32_t *totals, *bias, *mul, *add;
  TW_Y *y;
  tw_columns columns;
  int32_t filter; /* the first */
  int32_t count;  /* of filters: 4, or 1 where a layer has fewer than 4 */
} tw_finish;

/* ---- pixels that have one bias ---- */

static inline void tw_finish_store(TW_Y *y, int32_t a, int32_t b, int32_t c, int32_t d) {
  if (sizeof(TW_Y) == 1) {
    tw_x_store(y, tw_x_pack4(a, b, c, d));
    return;
  }
  y[0] = (TW_Y)a, y[1] = (TW_Y)b, y[2] = (TW_Y)c, y[3] = (TW_Y)d;
}

static inline int32_t tw_finish_clip(int32_t value, int32_t high) {
  return TW_Y_SIGNED ? tw_x_clip(value, high) : tw_x_clipu(value, high);
}

static inline int32_t tw_finish_high(int32_t total, int32_t mul, int32_t add, int32_t shift, int32_t high) {
  const int32_t product = (int32_t)((int64_t)total * mul >> 32);
  return tw_finish_clip(tw_x_addn(product, (uint32_t)add, (uint32_t)shift), high);
}

static inline int32_t tw_finish_narrow(int32_t total, int32_t mul, int32_t add, int32_t shift, int32_t high, int32_t bound) {
  return tw_finish_clip(tw_x_mac(add, tw_x_clip(total, bound), mul) >> shift, high);
}

static inline void tw_finish_run(const tw_finish *k, const int32_t *from, const int32_t *bias, TW_Y *to, int32_t pixels) {
  const int32_t step = k->p->source_pixel, filters = k->p->filters, mode = k->columns.mode;
  const int32_t b0 = bias[0], b1 = bias[1], b2 = bias[2], b3 = bias[3];
  const int32_t shift = k->columns.shift, high = k->columns.high;
  const int32_t m0 = k->columns.mul[0], m1 = k->columns.mul[1], m2 = k->columns.mul[2], m3 = k->columns.mul[3];
  if (mode == TW_HIGH) {
    const int32_t add = k->columns.add[0];
    for (; pixels > 0; pixels--, from += step, to += filters) {
      tw_finish_store(to, tw_finish_high(from[0] + b0, m0, add, shift, high), tw_finish_high(from[1] + b1, m1, add, shift, high),
                      tw_finish_high(from[2] + b2, m2, add, shift, high), tw_finish_high(from[3] + b3, m3, add, shift, high));
    }
    return;
  }
  const int32_t bound = mode == TW_CLIPPED ? k->columns.bound : INT32_MAX;
  const int32_t a0 = k->columns.add[0], a1 = k->columns.add[1], a2 = k->columns.add[2], a3 = k->columns.add[3];
  for (; pixels > 0; pixels--, from += step, to += filters) {
    tw_finish_store(
        to, tw_finish_narrow(from[0] + b0, m0, a0, shift, high, bound), tw_finish_narrow(from[1] + b1, m1, a1, shift, high, bound),
        tw_finish_narrow(from[2] + b2, m2, a2, shift, high, bound), tw_finish_narrow(from[3] + b3, m3, a3, shift, high, bound));
  }
}

/* Totals as they are, or requantised in 64 bits. */
static TW_COMPACT void tw_finish_exactly(const tw_finish *k, const int32_t *from, const int32_t *bias, TW_Y *to, int32_t pixels) {
  const tw_neureka_finished_params *const p = k->p;
  for (; pixels > 0; pixels--, from += p->source_pixel, to += p->filters) {
    for (int32_t i = 0; i < k->count; i++) {
      const int32_t f = k->filter + i, total = from[i] + bias[i];
      to[i] = (TW_Y)(p->requantised ? tw_requantise(&p->requant, total, k->mul[f], k->add ? k->add[f] : 0) : total);
    }
  }
}

/* ---- any pixels ---- */

static inline void tw_finish_pixels(const tw_finish *k, const int32_t *from, int32_t edge, TW_Y *to, int32_t pixels) {
  const int32_t *const bias = k->bias + edge * k->p->filters + k->filter;
  if (k->columns.mode == TW_EXACT) {
    tw_finish_exactly(k, from, bias, to, pixels);
  } else {
    tw_finish_run(k, from, bias, to, pixels);
  }
}

/* Pixels from `first` to before `end`, counted over all images. */
static inline void tw_finish_part(const tw_finish *k, int32_t first, int32_t end) {
  const tw_neureka_finished_params *const p = k->p;
  int32_t row = (int32_t)((uint32_t)first / (uint32_t)p->columns), x = first - row * p->columns;
  int32_t image = (int32_t)((uint32_t)row / (uint32_t)p->rows);
  row -= image * p->rows;
  TW_Y *to = k->y + first * p->filters + k->filter;
  while (first < end) {
    const int32_t count = tw_x_min(p->columns - x, end - first);
    const int32_t *const from = k->totals + image * p->source_image + row * p->source_row + x * p->source_pixel + k->filter;
    const int32_t edge = p->over_bottom && row == p->rows - 1 ? 2 : 0;
    const int32_t is_last = p->over_right && x + count == p->columns;
    tw_finish_pixels(k, from, edge, to, count - is_last);
    to += count * p->filters;
    if (is_last) tw_finish_pixels(k, from + (count - 1) * p->source_pixel, edge + 1, to - p->filters, 1);
    first += count;
    x = 0;
    if (++row == p->rows) row = 0, image++;
  }
}

static inline void tw_finish_choose(tw_finish *k, int32_t filter) {
  const tw_neureka_finished_params *const p = k->p;
  k->filter = filter;
  k->columns.mode = TW_EXACT;
  if (k->count < 4 || !p->requantised || sizeof(TW_Y) != 1) return;
  tw_columns_choose(&k->columns, &p->requant, k->mul + filter, 1, k->add ? k->add + filter : 0, 1, (uint32_t)p->limit, TW_Y_SIGNED);
}

static inline void tw_finish_totals(tw_finish *k) {
  const tw_neureka_finished_params *const p = k->p;
  k->count = p->filters < 4 ? 1 : 4;
  const int32_t pixels = p->images * p->rows * p->columns, groups = (p->filters + k->count - 1) / k->count;
  /* Few groups are shared by several cores. */
  int32_t parts = 1;
  while (parts < TW_CORES && groups < 4 * TW_CORES && groups * parts % TW_CORES) parts++;
  const tw_share share = tw_share_of(groups * parts);
  for (int32_t i = share.first, chosen = -1; i < share.end; i++) {
    const int32_t group = (int32_t)((uint32_t)i / (uint32_t)parts), part = i - group * parts;
    /* The last group has some filters of the one before, with the same results. */
    if (group != chosen) tw_finish_choose(k, tw_x_min(group * k->count, p->filters - k->count));
    chosen = group;
    tw_finish_part(k, pixels * part / parts, pixels * (part + 1) / parts);
  }
}

/* ---- results that are only copied ---- */

static inline void tw_finish_copy(TW_Y *to, const TW_Y *from, int32_t filters) {
  uint8_t *t = (uint8_t *)to;
  const uint8_t *f = (const uint8_t *)from;
  int32_t bytes = filters * (int32_t)sizeof(TW_Y);
  for (; bytes >= 4; bytes -= 4, t += 4, f += 4) tw_x_store(t, tw_x_load(f));
  for (; bytes > 0; bytes--) *t++ = *f++;
}

static inline void tw_finish_thinned(const tw_neureka_finished_params *p, const TW_Y *from, TW_Y *y) {
  const tw_share share = tw_share_of(p->images * p->rows * p->columns);
  int32_t row = (int32_t)((uint32_t)share.first / (uint32_t)p->columns), x = share.first - row * p->columns;
  int32_t image = (int32_t)((uint32_t)row / (uint32_t)p->rows);
  row -= image * p->rows;
  for (int32_t i = share.first; i < share.end; i++) {
    tw_finish_copy(y + i * p->filters, from + image * p->source_image + row * p->source_row + x * p->source_pixel, p->filters);
    if (++x < p->columns) continue;
    x = 0;
    if (++row == p->rows) row = 0, image++;
  }
}

static inline void tw_finish_all(const tw_neureka_finished_params *p, const int32_t *mul, const int32_t *bias,
                                 const int32_t *add, TW_Y *y, const void *scratch) {
  if (!p->totals) {
    tw_finish_thinned(p, scratch, y);
    return;
  }
  tw_finish k;
  k.p = p, k.totals = scratch, k.bias = bias, k.mul = mul, k.add = add, k.y = y;
  tw_finish_totals(&k);
}

#endif
