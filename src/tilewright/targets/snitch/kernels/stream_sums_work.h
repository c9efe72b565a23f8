/* Units of work of sums of products: those of the busiest core. */
#ifndef TW_STREAM_SUMS_WORK_H
#define TW_STREAM_SUMS_WORK_H

#include "product_tile.h"
#include "stream_sums_sizes.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* Streams that it describes, rows that these give, cycles of products or of copying where that takes longer, pairs of sums; sums of
 * groups that it adds up, of bytes that are summed in several. */
typedef struct {
  double described, rows, cycles, pairs, added;
} tw_sums_units;

static inline tw_sums_units tw_sums_of(int64_t rows, int64_t columns, int64_t inner, int32_t copying, int32_t cores) {
  const int32_t width = tw_even((int32_t)columns), parts = tw_column_parts((int32_t)rows, width, copying, cores);
  const int32_t unit = tw_column_unit(width, parts);
  const int64_t own_rows = tw_up(rows, cores / parts), units = tw_up(width, unit), runs = tw_up(inner, TW_COPIES);
  const int64_t own_pairs = tw_least(tw_up(units, parts) * unit, width) / 2;
  int64_t described = 0, cycles = 0, left = own_pairs;
  for (int64_t block = 8; block > 0; block /= 2) {
    const int64_t blocks = left / block, products = blocks * tw_most(block, 4) * inner, copied = copying * inner;
    left %= block;
    if (blocks == 0) continue;
    described += runs;
    cycles += own_rows * (block >= 4 ? tw_most(products, copied) : products + copied);
  }
  const tw_sums_units found = {described, described * own_rows, cycles, own_rows * own_pairs * runs, 0};
  return found;
}

/* Of bytes, in groups whose sums are exact. */
static inline tw_sums_units tw_byte_sums_of(int64_t rows, int64_t columns, int64_t inner, int32_t largest, int32_t copying,
                                            int32_t cores) {
  const int64_t safe = TW_LARGEST_TOTAL / largest, groups = tw_up(inner, safe);
  tw_sums_units found = {0, 0, 0, 0, 0};
  for (int64_t before = 0; before < inner; before += safe) {
    const tw_sums_units group = tw_sums_of(rows, columns, tw_least(safe, inner - before), copying, cores);
    found.described += group.described;
    found.rows += group.rows;
    found.cycles += group.cycles;
    found.pairs += group.pairs;
  }
  if (groups > 1) found.added = (double)(groups * rows * columns) / cores;
  return found;
}

#define TW_SUMS(count, s) (count) * (s).described, (count) * (s).rows, (count) * (s).cycles, (count) * (s).pairs

/* Results as they are, requantised in words, and as tw_requantise has them, which takes longer. */
static inline int tw_result_way(int32_t requantised, const tw_requant *r) {
  return !requantised ? 0 : TW_IS_TFLITE(r) || r->shift == 0 ? 2 : 1;
}

#define TW_RESULTS(way, count) (way) == 0 ? (count) : 0, (way) == 1 ? (count) : 0, (way) == 2 ? (count) : 0

/* ---- products ---- */

/* The call; what sums take. */
static inline int64_t tw_matmul_columns_work(const tw_matmul_params *p, const tw_product_loops *tile, int32_t cores,
                                             double *units) {
  const tw_sums_units sums = tw_sums_of(tile->m, tile->n, tile->k, TW_FLOAT_COPYING, cores);
  (void)p;
  TW_UNITS(1, TW_SUMS(tile->rest, sums));
}

/* Besides: matrices; elements of the second factor that a core writes down, and results that it places. */
static inline int64_t tw_matmul_strided_work(const tw_matmul_params *p, const tw_product_loops *tile, int32_t cores,
                                             double *units) {
  const int64_t inner = tw_most(tile->k, TW_LEAST), elements = (inner + tile->m) * tw_even((int32_t)tile->n);
  const int one_each = tw_is_one_each(tile->rest, elements);
  const int64_t own = one_each ? tw_up(tile->rest, cores) : tile->rest;
  const int32_t team = one_each ? 1 : cores;
  const tw_sums_units sums = tw_sums_of(tile->m, tile->n, inner, TW_FLOAT_COPYING, team);
  (void)p;
  TW_UNITS(1, TW_SUMS(own, sums), own, (double)(own * inner * tile->n) / team, (double)(own * tile->m * tile->n) / team);
}

/* The call; what sums take; elements of the second factor that a core converts, and its results, by the way to them. */
static inline int64_t tw_matmul_bytes_work(const tw_matmul_params *p, const tw_product_loops *tile, int32_t cores,
                                           int32_t a_signed, int32_t b_signed, double *units) {
  const int64_t inner = tw_most(tile->k, TW_LEAST), matrices = tile->rest;
  const int32_t largest = (int32_t)tw_largest_of_product(p, a_signed, b_signed);
  const tw_sums_units sums = tw_byte_sums_of(tile->m, tile->n, inner, largest, TW_BYTE_COPYING, cores);
  const double converted = (double)(inner * tile->n) / cores * (tw_has_one_b(p) ? 1 : matrices);
  const double results = (double)(matrices * tile->m * tile->n) / cores;
  const int way = tw_result_way(p->requantised, &p->requant);
  TW_UNITS(1, TW_SUMS(matrices, sums), matrices * sums.added, converted, TW_RESULTS(way, results));
}

/* ---- convolutions ---- */

/* Cycles for each element of a window that is copied, roughly: of single taps, and of several. */
static inline int32_t tw_window_copying(const tw_conv_loops *tile) { return tile->r * tile->s == 1 ? 10 : 20; }

/* The call; what sums take; elements of filters that a core turns; results. */
static inline int64_t tw_conv_streams_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, double *units) {
  const int64_t pixels = tile->y * tile->x, inner = tile->c * tile->r * tile->s, products = tile->n * tile->g;
  const tw_sums_units sums = tw_sums_of(pixels, tile->f, inner, tw_window_copying(tile), cores);
  (void)p;
  TW_UNITS(1, TW_SUMS(products, sums), (double)(tile->g * inner * tile->f) / cores, (double)(products * pixels * tile->f) / cores);
}

/* Results by the way to them. */
static inline int64_t tw_conv_bytes_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, int32_t x_signed,
                                         int32_t w_signed, double *units) {
  const int64_t pixels = tile->y * tile->x, inner = tile->c * tile->r * tile->s, products = tile->n * tile->g;
  const int32_t largest = (int32_t)tw_largest_of_conv(p, x_signed, w_signed);
  const tw_sums_units sums = tw_byte_sums_of(pixels, tile->f, inner, largest, tw_window_copying(tile), cores);
  const double converted = (double)(tile->g * inner * tile->f) / cores, results = (double)(products * pixels * tile->f) / cores;
  const int way = tw_result_way(p->requantised, &p->requant);
  TW_UNITS(1, TW_SUMS(products, sums), products * sums.added, converted, TW_RESULTS(way, results));
}

#endif
