/* Sums of products of floats, with streams and repetition: y[row, column] = sum of a[row, i] * b[i, column].
 *
 * Two columns are one packed number: a block of a row, up to 16 columns wide, is 8 sums that are multiplied and added
 * without a gap, with b and elements of a as streams, which are read four elements ahead. Streams take 8 bytes at multiples of
 * 8, so the integer core writes each element of a twice, those of later rows while the floating-point unit computes.
 *
 * Whoever includes this has defined the copy:
 *   static void tw_copy_run_of(const tw_sums *k, int32_t row, int32_t first, int32_t count, uint64_t *to) */
#ifndef TW_STREAM_SUMS_H
#define TW_STREAM_SUMS_H

#include "cluster.h"
#include "stream_sums_sizes.h"
#include "streams.h"
#include "tw.h"

typedef struct {
  const void *p;       /* the kernel's parameters, for the copy */
  const void *a;
  const float *b;      /* its rows begin at multiples of 8 bytes; so those of y and of what sums begin with */
  const float *begin;  /* what sums begin with, or NULL */
  float *y;
  int32_t b_row, begin_row, y_row; /* elements from row to row */
  int32_t inner;       /* products of a sum: at least 4, so that no stream is read ahead into the row after the next */
  int32_t is_positive; /* whether negative results become 0 */
  tw_share rows, columns; /* this core's part; an even number of columns */
  uint64_t *copies;    /* this core's, of four rows */
  int32_t length;      /* of each */
  int32_t before;      /* for the copy: products of these sums that are not of this call */
} tw_sums;

static void tw_copy_run_of(const tw_sums *k, int32_t row, int32_t first, int32_t count, uint64_t *to);

/* Writes an element of a. */
static inline void tw_put(uint64_t *to, uint32_t value) {
  ((volatile uint32_t *)to)[0] = value;
  ((volatile uint32_t *)to)[1] = value;
}

/* A run of the products that a sum consists of. */
typedef struct {
  int32_t first, count;
} run;

/* How many of what is left are taken at a time: at most `most`, and such that none are left or enough for a sum. */
static inline int32_t tw_taken(int32_t left, int32_t most) {
  const int32_t rest = left - most;
  return rest <= 0 ? left : rest < 4 ? most - 4 : most;
}

static inline void copy(const tw_sums *k, run summed, int32_t row, int32_t place) {
  tw_copy_run_of(k, row, summed.first, summed.count, k->copies + place * k->length);
}

#define EACH_1(WHAT) WHAT("fa0", 0)
#define EACH_2(WHAT) EACH_1(WHAT) WHAT("fa1", 8)
#define EACH_4(WHAT) EACH_2(WHAT) WHAT("fa2", 16) WHAT("fa3", 24)
#define EACH_8(WHAT) EACH_4(WHAT) WHAT("fa4", 32) WHAT("fa5", 40) WHAT("fa6", 48) WHAT("fa7", 56)
#define FETCH(sum, at) "fld " sum ", " #at "(%[from])\n"
#define STORE(sum, at) "fsd " sum ", " #at "(%[to])\n"
#define FIRST(sum, at) TW_VFMUL(sum, "ft1", "ft2")
#define FURTHER(sum, at) TW_VFMAC(sum, "ft1", "ft2")
#define POSITIVE(sum, at) TW_VFMAX_R(sum, sum, "ft3")
#define SUMS "fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "ft0", "ft1", "ft2", "memory"

/* A block of one row: `count` products for each of its sums, which begin with what lies at `from`, if anything. */
#define DEFINE_BLOCK(N)                                                                                              \
  static inline void sums_##N(const float *from, int32_t count) {                                                    \
    if (from) {                                                                                                      \
      __asm__ volatile(EACH_##N(FETCH) TW_REPEAT("%[turns]", N) EACH_##N(FURTHER)                                    \
                       : : [from] "r"(from), [turns] "r"(count - 1) : SUMS);                                         \
    } else {                                                                                                         \
      __asm__ volatile(EACH_##N(FIRST) TW_REPEAT("%[turns]", N) EACH_##N(FURTHER) : : [turns] "r"(count - 2) : SUMS); \
    }                                                                                                                \
  }                                                                                                                  \
  static inline void store_##N(float *to, int is_positive) {                                                         \
    if (is_positive) __asm__ volatile(EACH_##N(POSITIVE) : : : SUMS);                                                \
    __asm__ volatile(EACH_##N(STORE) : : [to] "r"(to) : SUMS);                                                       \
  }
DEFINE_BLOCK(8)
DEFINE_BLOCK(4)
DEFINE_BLOCK(2)
DEFINE_BLOCK(1)

/* The stream of b for `blocks` blocks of `pairs` pairs of columns, for all rows of this core. */
static TW_COMPACT void tw_describe_b(const tw_sums *k, run summed, int32_t column, int32_t pairs, int32_t blocks) {
  const int32_t apart = 4 * k->b_row, back = 8 - apart * (summed.count - 1), width = 8 * pairs;
  tw_stream_repeat(1, 1);
  tw_stream_loop(1, 0, pairs, 8);
  tw_stream_loop(1, 1, summed.count, apart - width + 8);
  tw_stream_loop(1, 2, blocks, back);
  tw_stream_loop(1, 3, k->rows.end - k->rows.first, back - width * blocks);
  tw_stream_read(1, 4, k->b + summed.first * k->b_row + column);
}

/* That of a for some rows: each element is given for all pairs. Copies of rows lie in four places in turn. */
static TW_COMPACT void tw_describe_a(const tw_sums *k, int32_t count, int32_t pairs, int32_t blocks, int32_t rows, int32_t place) {
  const int32_t places = tw_min(rows, 4), length = k->length;
  tw_stream_repeat(2, pairs);
  tw_stream_loop(2, 0, count, 8);
  tw_stream_loop(2, 1, blocks, -8 * (count - 1));
  tw_stream_loop(2, 2, places, 8 * (length - count + 1));
  tw_stream_loop(2, 3, (rows + 3) >> 2, -8 * ((places - 1) * length + count - 1));
  tw_stream_read(2, 4, k->copies + place * length);
}

/* Rows of results, and of what their sums begin with: what is there already, what they are told, or nothing. What is next is
 * known before a row's results are stored: the unit has nothing to do when it has stored them. */
typedef struct {
  float *to;
  const float *from;
  int32_t to_step, from_step; /* to the next row */
  int is_positive;
} tw_row_of_sums;

static inline tw_row_of_sums tw_first_row(const tw_sums *k, run summed, int32_t column) {
  const int is_last = summed.first + summed.count == k->inner, row = k->rows.first;
  tw_row_of_sums found = {k->y + row * k->y_row + column, 0, k->y_row, 0, k->is_positive && is_last};
  if (summed.first > 0) {
    found.from = found.to;
    found.from_step = found.to_step;
  } else if (k->begin) {
    found.from = k->begin + row * k->begin_row + column;
    found.from_step = k->begin_row;
  }
  return found;
}

/* One row of columns in blocks of N pairs. While the unit works on the first one, the core copies the row after the next.
 *
 * Streams are read ahead, so a row's copy is there before the unit is told of the row before. And it is overwritten when the
 * unit has done with it: it keeps 16 instructions in mind, and is told more of two rows, if blocks are not small. */
#define DEFINE_ROW(N)                                                                                            \
  static inline __attribute__((always_inline)) void row_##N(const tw_sums *k, run summed, int32_t row, int32_t blocks, \
                                                            tw_row_of_sums at, int ahead) {                      \
    for (int32_t block = 0; block < blocks; block++, at.to += 2 * N) {                                           \
      sums_##N(at.from, summed.count);                                                                           \
      if (at.from) at.from += 2 * N;                                                                             \
      if (block == 0 && ahead && row + 2 < k->rows.end) {                                                        \
        if (N < 4) tw_fpu_wait();                                                                                \
        copy(k, summed, row + 2, (row + 1 - k->rows.first) & 3);                                                 \
      }                                                                                                          \
      store_##N(at.to, at.is_positive);                                                                          \
    }                                                                                                            \
  }
DEFINE_ROW(8)
DEFINE_ROW(4)
DEFINE_ROW(2)
DEFINE_ROW(1)

/* All rows. The first one has a stream of its own, so that the next ones may be copied while it is computed. */
#define DEFINE_BLOCKS(N)                                                                                       \
  static __attribute__((noinline)) void blocks_##N(const tw_sums *k, run summed, int32_t column, int32_t end) { \
    const int32_t first = k->rows.first, last = k->rows.end, blocks = (end - column) / (2 * N);                \
    tw_row_of_sums at = tw_first_row(k, summed, column);                                                       \
    copy(k, summed, first, 3);                                                                                 \
    tw_describe_b(k, summed, column, N, blocks);                                                               \
    tw_describe_a(k, summed.count, N, blocks, 1, 3);                                                           \
    row_##N(k, summed, first, blocks, at, 0);                                                                  \
    if (first + 1 < last) copy(k, summed, first + 1, 0);                                                       \
    if (first + 2 < last) copy(k, summed, first + 2, 1);                                                       \
    if (first + 1 < last) tw_describe_a(k, summed.count, N, blocks, last - first - 1, 0);                      \
    for (int32_t row = first + 1; row < last; row++) {                                                         \
      at.to += at.to_step;                                                                                     \
      if (at.from) at.from += at.from_step;                                                                    \
      row_##N(k, summed, row, blocks, at, 1);                                                                  \
    }                                                                                                          \
    tw_fpu_wait();                                                                                             \
  }
DEFINE_BLOCKS(8)
DEFINE_BLOCKS(4)
DEFINE_BLOCKS(2)
DEFINE_BLOCKS(1)

static inline void in_blocks(const tw_sums *k, run summed, int32_t width, int32_t column, int32_t end) {
  switch (width) {
    case 16: blocks_8(k, summed, column, end); break;
    case 8: blocks_4(k, summed, column, end); break;
    case 4: blocks_2(k, summed, column, end); break;
    default: blocks_1(k, summed, column, end); break;
  }
}

/* All sums of this core's part. */
static void tw_sum_up(const tw_sums *k) {
  if (k->rows.first >= k->rows.end || k->columns.first >= k->columns.end) return;
  /* What clamps negative sums. */
  __asm__ volatile("fcvt.d.w ft3, x0" : : : "ft3");
  tw_streams_on();
  int32_t column = k->columns.first;
  for (int32_t width = 16; width >= 2; width >>= 1) {
    const int32_t end = column + ((k->columns.end - column) & -width);
    if (column == end) continue;
    for (run summed = {0, 0}; summed.first < k->inner; summed.first += summed.count) {
      summed.count = tw_taken(k->inner - summed.first, k->length);
      in_blocks(k, summed, width, column, end);
    }
    column = end;
  }
  tw_streams_off();
}

static inline tw_share tw_part_of(int32_t count, int32_t unit, uint32_t number, uint32_t parts) {
  const uint32_t units = (uint32_t)(count + unit - 1) / (uint32_t)unit;
  const int32_t first = (int32_t)(units * number / parts) * unit, end = (int32_t)(units * (number + 1) / parts) * unit;
  const tw_share part = {first, tw_min(end, count)};
  return part;
}

static inline __attribute__((always_inline)) void cut(tw_sums *k, int32_t rows, int32_t columns, uint32_t parts) {
  const uint32_t core = (uint32_t)tw_core();
  k->rows = tw_part_of(rows, 1, core / parts, TW_CORES / parts);
  k->columns = tw_part_of(columns, tw_column_unit(columns, (int32_t)parts), core % parts, parts);
}

/* This core's part of all rows and columns; `copying` is cycles for each element of a that is copied. Division takes long, but
 * not by a constant. */
static void tw_sums_cut(tw_sums *k, int32_t rows, int32_t columns, int32_t copying) {
  switch (tw_column_parts(rows, columns, copying, TW_CORES)) {
    case 1: cut(k, rows, columns, 1); break;
    case 2: cut(k, rows, columns, 2); break;
    case 4: cut(k, rows, columns, 4); break;
    default: cut(k, rows, columns, TW_CORES); break;
  }
}

/* This core's copies in the working memory that all have: room for four rows of `longest` elements for each, if these are not
 * more than TW_COPIES. */
static inline void tw_sums_copies(tw_sums *k, int32_t longest, void *scratch) {
  const int32_t runs = (k->inner + TW_COPIES - 1) / TW_COPIES;
  k->length = runs == 1 ? k->inner : (k->inner + runs - 1) / runs;
  k->copies = (uint64_t *)scratch + tw_core() * tw_copied_pairs(longest);
}

#endif
