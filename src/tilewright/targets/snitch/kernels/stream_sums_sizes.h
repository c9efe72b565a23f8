/* How sums of products are cut among cores, and their working memory. */
#ifndef TW_STREAM_SUMS_SIZES_H
#define TW_STREAM_SUMS_SIZES_H

#include "conv.h"
#include "matmul.h"

#define TW_LEAST 4   /* products of a sum: shorter ones are filled up with zeros */
#define TW_COPIES 64 /* of elements of a row of a, at the most: what is summed at a time */

/* Cycles for each element of a that is copied, roughly: of floats, and of bytes. */
enum { TW_FLOAT_COPYING = 6, TW_BYTE_COPYING = 10 };

/* Of sums that floats hold exactly beside 1.5 * 2^23. */
#define TW_LARGEST_TOTAL 4194303

/* How far an element can be from its zero. */
static inline int32_t tw_further(int32_t is_signed, int32_t zero) {
  return is_signed ? tw_max(127 - zero, zero + 128) : tw_max(255 - zero, zero);
}

static inline int64_t tw_largest_of_product(const tw_matmul_params *p, int32_t a_signed, int32_t b_signed) {
  return tw_further(a_signed, p->a_zero) * tw_further(b_signed, p->b_zero);
}

static inline int64_t tw_largest_of_conv(const tw_conv_params *p, int32_t x_signed, int32_t w_signed) {
  return tw_further(x_signed, p->x_zero) * tw_further(w_signed, p->w_zero);
}

/* Columns as they lie in the working memory: an even number. */
static inline int32_t tw_even(int32_t columns) { return (columns + 1) & ~1; }

static inline int32_t tw_conv_inner(const tw_conv_params *p) { return p->in_channels * p->kernel_h * p->kernel_w; }

/* ---- how work is cut ---- */

/* Cycles for each product of the sums of a row, roughly: small blocks wait for their own sums. */
static inline int32_t tw_steps_of(int32_t columns) {
  const int32_t pairs = (columns + 1) >> 1, small = (pairs >> 2 & 1) + (pairs >> 1 & 1) + (pairs & 1);
  return (pairs & ~7) + 6 * small;
}

static inline int32_t tw_parted(int32_t count, int32_t parts) { return (count + parts - 1) / parts; }

/* In how many parts columns are cut; rows in so many that each core has one part of both. The fewest steps, and where that is
 * equal many parts: cores that read the same columns of b get in each other's way. */
static inline int32_t tw_column_parts(int32_t rows, int32_t columns, int32_t copying, int32_t cores) {
  int32_t found = 1, fewest = 0x7fffffff;
#ifdef __clang__
#pragma clang loop unroll(full)
#endif
  for (int32_t parts = 1; parts <= cores; parts++) {
    if (cores % parts || (parts > 2 && parts != 4 && parts != cores)) continue;
    const int32_t steps = tw_parted(rows, cores / parts) * tw_max(tw_steps_of(tw_parted(columns, parts)), copying);
    if (steps > fewest) continue;
    fewest = steps;
    found = parts;
  }
  return found;
}

/* Columns that no cut goes through. */
static inline int32_t tw_column_unit(int32_t columns, int32_t parts) { return columns >= 16 * parts ? 16 : 2; }

/* Small matrices are taken by one core each, if there are enough of them. */
static inline int tw_is_one_each(int64_t matrices, int64_t elements) { return matrices >= 8 && elements <= 1024; }

/* ---- working memory ---- */

/* Copies of one core: elements of four rows, twice each. */
static inline int32_t tw_copied_pairs(int32_t inner) { return 4 * tw_min(inner, TW_COPIES); }

static inline int64_t tw_copies_bytes(int32_t inner, int32_t cores) { return 8 * (int64_t)cores * tw_copied_pairs(inner); }

static inline int64_t tw_matmul_columns_scratch(const tw_matmul_params *p, int32_t cores) {
  return tw_copies_bytes(p->inner, cores);
}

static inline int64_t tw_matrices(const tw_matmul_params *p) {
  int64_t matrices = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) matrices *= p->size[axis];
  return matrices;
}

/* The second factor with columns side by side, sums, copies. */
static inline int64_t tw_matmul_strided_scratch(const tw_matmul_params *p, int32_t cores) {
  const int32_t inner = tw_max(p->inner, TW_LEAST);
  const int64_t elements = (int64_t)(inner + p->rows) * tw_even(p->columns);
  return 4 * elements * (tw_is_one_each(tw_matrices(p), elements) ? cores : 1) + tw_copies_bytes(inner, cores);
}

/* Tables, a row of what sums begin with, the second factor as floats, sums, totals of longer ones, copies. */
static inline int64_t tw_byte_sums_bytes(int32_t rows, int32_t inner, int32_t columns, int32_t largest, int32_t cores) {
  const int64_t width = tw_even(columns), sums = 1 + (inner > TW_LARGEST_TOTAL / largest);
  return 4 * (512 + width + inner * width + sums * rows * width) + tw_copies_bytes(inner, cores);
}

static inline int64_t tw_matmul_bytes_scratch(const tw_matmul_params *p, int32_t a_signed, int32_t b_signed, int32_t cores) {
  const int32_t largest = (int32_t)tw_largest_of_product(p, a_signed, b_signed);
  return tw_byte_sums_bytes(p->rows, tw_max(p->inner, TW_LEAST), p->columns, largest, cores);
}

static inline int64_t tw_conv_bytes_scratch(const tw_conv_params *p, int32_t x_signed, int32_t w_signed, int32_t cores) {
  const int32_t largest = (int32_t)tw_largest_of_conv(p, x_signed, w_signed);
  return tw_byte_sums_bytes(p->out_h * p->out_w, tw_conv_inner(p), p->out_channels, largest, cores);
}

/* A row of what sums begin with, filters as columns, sums, copies. */
static inline int64_t tw_conv_streams_scratch(const tw_conv_params *p, int32_t cores) {
  const int64_t inner = tw_conv_inner(p), pixels = (int64_t)p->out_h * p->out_w;
  return 4 * (1 + inner + pixels) * tw_even(p->out_channels) + tw_copies_bytes(tw_conv_inner(p), cores);
}

#endif
