/* Sums of floats over some axes, times a factor, all cores together: TW_REDUCE_STREAMS(factor, an expression of p).
 *
 * Where neighbours in y are neighbours in x, eight pairs of them are summed side by side; otherwise a result is the sum of runs, in four
 * pairs of chains. */
#ifndef TW_REDUCE_STREAMS_H
#define TW_REDUCE_STREAMS_H

#include "cluster.h"
#include "reduce.h"
#include "row_streams.h"
#include "walk_from.h"

/* Stream 0 through all that one result is made of; `within` are loops that are described already and `done` bytes that they have
 * come on. */
static TW_COMPACT void tw_read_reduced(const tw_reduce_params *p, int32_t axes, int32_t within, int32_t done, const float *x) {
  for (int32_t axis = axes - 1; axis >= 0; axis--, within++) {
    const int32_t step = 4 * p->stride[axis] - done;
    switch (within) {
      case 0: tw_stream_loop(0, 0, p->size[axis], step); break;
      case 1: tw_stream_loop(0, 1, p->size[axis], step); break;
      case 2: tw_stream_loop(0, 2, p->size[axis], step); break;
      default: tw_stream_loop(0, 3, p->size[axis], step); break;
    }
    done += 4 * p->stride[axis] * (p->size[axis] - 1);
  }
  switch (within) {
    case 1: tw_stream_read(0, 1, x); break;
    case 2: tw_stream_read(0, 2, x); break;
    case 3: tw_stream_read(0, 3, x); break;
    default: tw_stream_read(0, 4, x); break;
  }
}

#define EACH_1(WHAT) WHAT("fa0", 0)
#define EACH_2(WHAT) EACH_1(WHAT) WHAT("fa1", 8)
#define EACH_4(WHAT) EACH_2(WHAT) WHAT("fa2", 16) WHAT("fa3", 24)
#define EACH_8(WHAT) EACH_4(WHAT) WHAT("fa4", 32) WHAT("fa5", 40) WHAT("fa6", 48) WHAT("fa7", 56)
#define FIRST(sum, at) TW_VFADD(sum, "ft0", "ft4")
#define FURTHER(sum, at) TW_VFADD(sum, sum, "ft0")
#define SCALED(sum, at) TW_VFMUL_R(sum, sum, "ft3")
#define STORE(sum, at) "fsd " sum ", " #at "(%0)\n"
#define SUMS "fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "ft0", "ft1", "ft2", "memory"

#define DEFINE_COLUMNS(N)                                                                                            \
  static __attribute__((noinline)) void tw_columns_##N(const tw_reduce_params *p, int32_t positions, const float *x, float *y) { \
    tw_stream_repeat(0, 1);                                                                                          \
    tw_stream_loop(0, 0, N, 8);                                                                                      \
    tw_read_reduced(p, p->rank, 1, 8 * (N - 1), x);                                                                  \
    __asm__ volatile(EACH_##N(FIRST) : : : SUMS);                                                                    \
    if (positions > 1) __asm__ volatile(TW_REPEAT("%0", N) EACH_##N(FURTHER) : : "r"(positions - 2) : SUMS);         \
    __asm__ volatile(EACH_##N(SCALED) EACH_##N(STORE) : : "r"(y) : SUMS);                                            \
  }
DEFINE_COLUMNS(8)
DEFINE_COLUMNS(4)
DEFINE_COLUMNS(2)
DEFINE_COLUMNS(1)

/* A group of columns; the last one of a row may begin with columns that another one has too. */
static void tw_reduce_columns(const tw_reduce_params *p, tw_share share, int32_t groups, int32_t positions, const float *x, float *y) {
  const int32_t last = p->kept_rank - 1, pairs = p->kept_size[last] >> 1, wide = pairs >= 8 ? 8 : pairs >= 4 ? 4 : pairs >= 2 ? 2 : 1;
  int32_t at[TW_MAX_RANK], row = share.first / groups, group = share.first - row * groups;
  int32_t offset = tw_walk_from(last, p->kept_size, p->kept_stride, row, at);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t column = 2 * tw_min(group * wide, pairs - wide);
    const float *const from = x + offset + column;
    float *const to = y + row * p->kept_size[last] + column;
    switch (wide) {
      case 8: tw_columns_8(p, positions, from, to); break;
      case 4: tw_columns_4(p, positions, from, to); break;
      case 2: tw_columns_2(p, positions, from, to); break;
      default: tw_columns_1(p, positions, from, to); break;
    }
    if (++group < groups) continue;
    group = 0;
    row++;
    tw_walk(last, p->kept_size, p->kept_stride, at, &offset);
  }
}

static void tw_reduce_rows(const tw_reduce_params *p, tw_share share, int32_t positions, const float *x, float *y) {
  const int32_t last = p->rank - 1, pairs = p->size[last] >> 1;
  int32_t at[TW_MAX_RANK], offset = tw_walk_from(p->kept_rank, p->kept_size, p->kept_stride, share.first, at);
  for (int32_t i = share.first; i < share.end; i++) {
    __asm__ volatile(TW_NO_SUMS : : : TW_ROW_REGISTERS);
    tw_stream_repeat(0, 1);
    tw_stream_loop(0, 0, pairs, 8);
    tw_read_reduced(p, last, 1, 8 * (pairs - 1), x + offset);
    __asm__ volatile(TW_FOUR_TURNS("%0", TW_VFADD("f8", "f8", "ft0")) TW_TOGETHER TW_VFMUL_R("f12", "f12", "ft3") "fsw f12, 0(%1)"
                     : : "r"((positions >> 1) - 1), "r"(y + i) : TW_ROW_REGISTERS);
    tw_walk(p->kept_rank, p->kept_size, p->kept_stride, at, &offset);
  }
}

static TW_COMPACT void tw_reduce_one_by_one(const tw_reduce_params *p, tw_share share, int32_t positions, float factor, const float *x, float *y) {
  int32_t at[TW_MAX_RANK], offset = tw_walk_from(p->kept_rank, p->kept_size, p->kept_stride, share.first, at);
  for (int32_t i = share.first; i < share.end; i++) {
    int32_t inner[TW_MAX_RANK] = {0}, from = offset;
    float sum = 0.0f;
    for (int32_t j = 0; j < positions; j++) {
      sum += x[from];
      tw_walk(p->rank, p->size, p->stride, inner, &from);
    }
    y[i] = sum * factor;
    tw_walk(p->kept_rank, p->kept_size, p->kept_stride, at, &offset);
  }
}

static void tw_reduce_streams(const tw_reduce_params *p, float factor, const float *x, float *y) {
  const int32_t last = p->kept_rank - 1, positions = tw_walk_length(p->rank, p->size);
  const int32_t results = tw_walk_length(p->kept_rank, p->kept_size), pairs = p->kept_size[last] >> 1;
  const int by_columns = p->kept_stride[last] == 1;
  if (!tw_can_stream(x, by_columns ? y : (float *)0, 0)) {
    const tw_share share = tw_share_of(results);
    if (share.first < share.end) tw_reduce_one_by_one(p, share, positions, factor, x, y);
    return;
  }
  const int32_t groups = pairs >= 8 ? (pairs + 7) >> 3 : pairs >= 4 ? 2 - (pairs == 4) : pairs >= 2 ? pairs - 1 : 1;
  const tw_share share = tw_share_of(by_columns ? results / p->kept_size[last] * groups : results);
  if (share.first >= share.end) return;
  __asm__ volatile("fmv.s ft3, %0\n fcvt.d.w ft4, x0" : : "f"(factor) : "ft3", "ft4");
  tw_streams_on();
  if (by_columns) {
    tw_reduce_columns(p, share, groups, positions, x, y);
  } else {
    tw_reduce_rows(p, share, positions, x, y);
  }
  tw_streams_off();
}

#endif
