/* Matrix product of floats whose factor b and result have columns side by side; all cores together.
 *
 * Two columns are one packed number: a block of a row, up to 16 columns wide, is 8 sums that are multiplied and added
 * without a gap, with b and elements of a as streams, which are read four elements ahead. Streams take 8 bytes at multiples of 8, so the integer core writes
 * each element of a twice, those of the next row while the floating-point unit computes this one. */
#include "matmul.h"

#ifndef TW_NAME
#define TW_NAME tw_matmul_columns_f32
#endif

#include "cluster.h"
#include "streams.h"

#define COPIES 64 /* of elements of a row of a, at the most: what is summed at a time */

typedef struct {
  const tw_matmul_params *p;
  const float *a, *b, *c;
  float *y;
  tw_share rows, columns;
  uint64_t *copies; /* this core's, of four rows */
  int32_t length;   /* of each */
} work;

/* A run of the products that a sum consists of. */
typedef struct {
  int32_t first, count;
} run;

static inline void put(uint64_t *to, uint32_t value) {
  ((volatile uint32_t *)to)[0] = value;
  ((volatile uint32_t *)to)[1] = value;
}

/* Elements that are `step` apart; eight are loaded before one is stored, because a load's result is not there at once. */
static inline __attribute__((always_inline)) void copy_run(const uint32_t *from, int32_t step, int32_t count, uint64_t *to) {
  for (; count >= 8; count -= 8, from += 8 * step, to += 8) {
    uint32_t eight[8];
    for (int i = 0; i < 8; i++) eight[i] = ((const volatile uint32_t *)from)[i * step];
    for (int i = 0; i < 8; i++) put(to + i, eight[i]);
  }
  for (; count > 0; count--, from += step, to++) put(to, *from);
}

static __attribute__((noinline)) void copy_row(const uint32_t *from, int32_t step, int32_t count, uint64_t *to) {
  if (step == 1) {
    copy_run(from, 1, count, to);
  } else {
    copy_run(from, step, count, to);
  }
}

static void copy(const work *k, run summed, int32_t row, int32_t place) {
  const uint32_t *const from = (const uint32_t *)k->a + row * k->p->a_row + summed.first * k->p->a_column;
  copy_row(from, k->p->a_column, summed.count, k->copies + place * k->length);
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

/* Streams for `blocks` blocks of `pairs` pairs of columns, for some rows. Copies of rows lie in four places in turn. */
static TW_COMPACT void describe(const work *k, run summed, int32_t column, int32_t pairs, int32_t blocks, int32_t rows,
                                int32_t place) {
  const int32_t count = summed.count, apart = 4 * k->p->b_row, places = tw_min(rows, 4);
  tw_stream_repeat(2, pairs);
  tw_stream_loop(2, 0, count, 8);
  tw_stream_loop(2, 1, blocks, -8 * (count - 1));
  tw_stream_loop(2, 2, places, 8 * (k->length - count + 1));
  tw_stream_loop(2, 3, (rows + 3) >> 2, -8 * ((places - 1) * k->length + count - 1));
  tw_stream_repeat(1, 1);
  tw_stream_loop(1, 0, pairs, 8);
  tw_stream_loop(1, 1, count, apart - 8 * (pairs - 1));
  tw_stream_loop(1, 2, blocks, 8 - apart * (count - 1));
  tw_stream_loop(1, 3, rows, 8 - apart * (count - 1) - 8 * pairs * blocks);
  tw_stream_read(2, 4, k->copies + place * k->length);
  tw_stream_read(1, 4, k->b + summed.first * k->p->b_row + column);
}

/* Where sums of a block begin: at what is there already, at c, or at nothing. */
static inline const float *begun(const work *k, run summed, int32_t row, int32_t column) {
  if (summed.first > 0) return k->y + row * k->p->y_row + column;
  return k->c ? k->c + row * k->p->c_row + column : 0;
}

static inline int is_positive(const work *k, run summed) {
  return k->p->activation.kind && summed.first + summed.count == k->p->inner;
}

/* One row of columns in blocks of N pairs. While the unit works on the first one, the core copies the row after the next.
 *
 * Streams are read ahead, so a row's copy is there before the unit is told of the row before. And it is overwritten when the
 * unit has done with it: it keeps 16 instructions in mind, and is told more of two rows, if blocks are not small. */
#define DEFINE_ROW(N)                                                                                            \
  static inline __attribute__((always_inline)) void row_##N(const work *k, run summed, int32_t row, int32_t column, int32_t end, int32_t ahead) { \
    for (int32_t at = column; at < end; at += 2 * N) {                                                           \
      sums_##N(begun(k, summed, row, at), summed.count);                                                         \
      if (at == column && row + 2 < k->rows.end && ahead) {                                                      \
        if (N < 4) tw_fpu_wait();                                                                                \
        copy(k, summed, row + 2, (row + 1 - k->rows.first) & 3);                                                 \
      }                                                                                                          \
      store_##N(k->y + row * k->p->y_row + at, is_positive(k, summed));                                          \
    }                                                                                                            \
  }
DEFINE_ROW(8)
DEFINE_ROW(4)
DEFINE_ROW(2)
DEFINE_ROW(1)

/* All rows. The first one has streams of its own, so that the next ones may be copied while it is computed. */
#define DEFINE_BLOCKS(N)                                                                                       \
  static __attribute__((noinline)) void blocks_##N(const work *k, run summed, int32_t column, int32_t end) {   \
    const int32_t first = k->rows.first, rows = k->rows.end - first, blocks = (end - column) / (2 * N);        \
    copy(k, summed, first, 3);                                                                                 \
    describe(k, summed, column, N, blocks, 1, 3);                                                              \
    row_##N(k, summed, first, column, end, 0);                                                                 \
    if (rows > 1) copy(k, summed, first + 1, 0);                                                               \
    if (rows > 2) copy(k, summed, first + 2, 1);                                                               \
    if (rows > 1) describe(k, summed, column, N, blocks, rows - 1, 0);                                         \
    for (int32_t row = first + 1; row < k->rows.end; row++) row_##N(k, summed, row, column, end, 1);           \
    tw_fpu_wait();                                                                                             \
  }
DEFINE_BLOCKS(8)
DEFINE_BLOCKS(4)
DEFINE_BLOCKS(2)
DEFINE_BLOCKS(1)

typedef void blocks(const work *k, run summed, int32_t column, int32_t end);

static void product(const work *k) {
  static blocks *const in_blocks_of[] = {blocks_8, blocks_4, blocks_2, blocks_1};
  tw_streams_on();
  int32_t column = k->columns.first;
  for (int32_t i = 0; i < 4; i++) {
    const int32_t width = 16 >> i, end = column + ((k->columns.end - column) & -width);
    if (column == end) continue;
    for (int32_t first = 0; first < k->p->inner; first += k->length) {
      const run summed = {first, tw_min(k->length, k->p->inner - first)};
      in_blocks_of[i](k, summed, column, end);
    }
    column = end;
  }
  tw_streams_off();
}

/* Cycles for each product of the sums of a row, roughly: small blocks wait for their own sums and for the copies of a. */
static int32_t steps_of(int32_t columns) {
  const int32_t pairs = (columns + 1) >> 1, small = (pairs >> 2 & 1) + (pairs >> 1 & 1) + (pairs & 1);
  return (pairs & ~7) + 6 * small;
}

static int32_t parted(int32_t count, int32_t parts) { return (count + parts - 1) / parts; }

/* In how many parts columns are cut; rows in so many that each core has one part of both. The fewest steps, and where that is
 * equal many parts: cores that read the same columns of b get in each other's way. */
static int32_t column_parts(int32_t rows, int32_t columns) {
  int32_t found = 1, fewest = 0x7fffffff;
#pragma clang loop unroll(full)
  for (int32_t parts = 1; parts <= TW_CORES; parts++) {
    if (TW_CORES % parts || (parts > 2 && parts != 4 && parts != TW_CORES)) continue;
    const int32_t steps = parted(rows, TW_CORES / parts) * steps_of(parted(columns, parts));
    if (steps > fewest) continue;
    fewest = steps;
    found = parts;
  }
  return found;
}

static inline tw_share part_of(int32_t count, int32_t unit, uint32_t number, uint32_t parts) {
  const uint32_t units = (uint32_t)(count + unit - 1) / (uint32_t)unit;
  const int32_t first = (int32_t)(units * number / parts) * unit, end = (int32_t)(units * (number + 1) / parts) * unit;
  const tw_share part = {first, tw_min(end, count)};
  return part;
}

static inline __attribute__((always_inline)) void cut(work *k, uint32_t parts) {
  const uint32_t core = (uint32_t)tw_core();
  k->rows = part_of(k->p->rows, 1, core / parts, TW_CORES / parts);
  k->columns = part_of(k->p->columns, k->p->columns >= (int32_t)(16 * parts) ? 16 : 2, core % parts, parts);
}

/* Division takes long, but not by a constant. */
static void cut_in(work *k, int32_t parts) {
  switch (parts) {
    case 1: cut(k, 1); break;
    case 2: cut(k, 2); break;
    case 4: cut(k, 4); break;
    default: cut(k, TW_CORES); break;
  }
}

void TW_NAME(const tw_matmul_params *params, const float *a, const float *b, const float *c, float *y, void *scratch) {
  const tw_matmul_params *const p = params;
  const int32_t runs = (p->inner + COPIES - 1) / COPIES, length = runs == 1 ? p->inner : (p->inner + runs - 1) / runs;
  work k = {p, a, b, c, y, {0, 0}, {0, 0}, (uint64_t *)scratch + tw_core() * 4 * length, length};
  cut_in(&k, column_parts(p->rows, p->columns));
  if (k.rows.first >= k.rows.end || k.columns.first >= k.columns.end || tw_batch_is_empty(p)) return;
  /* What clamps negative sums. */
  __asm__ volatile("fcvt.d.w ft3, x0" : : : "ft3");
  tw_batch batch = {{0}, 0, 0, 0, 0};
  do {
    k.a = a + batch.a;
    k.b = b + batch.b;
    k.c = c ? c + batch.c : 0;
    k.y = y + batch.y;
    product(&k);
  } while (tw_batch_next(p, &batch));
}
