/* Defines a kernel of two tensors of floats, element by element, broadcast along rows, all cores together:
 * TW_STREAM_BINARY(funct7 of the packed instruction, expression of a and b).
 *
 * Two elements are one number of 8 bytes: both operands and the result are streams of them, and one instruction is repeated. */
#ifndef TW_STREAM_BINARY_H
#define TW_STREAM_BINARY_H

#include "binary.h"
#include "cluster.h"
#include "streams.h"
#include "walk_from.h"

/* A stream through `rows` rows of the outermost loop, and all loops within; strides count elements. */
#define TW_STREAM_NEST(stream, p, strides, rows)                                                     \
  do {                                                                                               \
    const int32_t last = (p)->rank - 1;                                                              \
    int32_t done = 8 * (((p)->size[last] >> 1) - 1); /* bytes that the loops within have come on */  \
    tw_stream_repeat(stream, 1);                                                                     \
    tw_stream_loop(stream, 0, (p)->size[last] >> 1, 8);                                              \
    if (last == 1) {                                                                                 \
      tw_stream_loop(stream, 1, rows, 4 * (strides)[0] - done);                                      \
    } else if (last == 2) {                                                                          \
      tw_stream_loop(stream, 1, (p)->size[1], 4 * (strides)[1] - done);                              \
      done += 4 * (strides)[1] * ((p)->size[1] - 1);                                                 \
      tw_stream_loop(stream, 2, rows, 4 * (strides)[0] - done);                                      \
    }                                                                                                \
  } while (0)
#define TW_STREAM_NEST_READ(stream, p, from) \
  do {                                       \
    if ((p)->rank == 2) {                    \
      tw_stream_read(stream, 2, from);       \
    } else {                                 \
      tw_stream_read(stream, 3, from);       \
    }                                        \
  } while (0)
#define TW_STREAM_RUN(stream, pairs)         \
  do {                                       \
    tw_stream_repeat(stream, 1);             \
    tw_stream_loop(stream, 0, pairs, 8);     \
  } while (0)

#define TW_STREAM_BINARY(FUNCT7, EXPRESSION)                                                                               \
  static inline float tw_one(float a, float b) { return EXPRESSION; }                                                      \
  static inline void tw_pairs(int32_t pairs) {                                                                             \
    tw_streams_on();                                                                                                       \
    __asm__ volatile(TW_REPEAT("%0", 1) ".insn r 0x33, 0, " #FUNCT7 ", ft2, ft0, ft1\n" : : "r"(pairs - 1)                 \
                     : "ft0", "ft1", "ft2", "memory");                                                                     \
    tw_streams_off_written();                                                                                              \
  }                                                                                                                        \
  static inline void tw_pairs_with(int32_t pairs, const float *b) {                                                        \
    __asm__ volatile("flw ft3, 0(%0)" : : "r"(b) : "ft3", "memory");                                                       \
    tw_streams_on();                                                                                                       \
    __asm__ volatile(TW_REPEAT("%0", 1) ".insn r 0x33, 4, " #FUNCT7 ", ft2, ft0, ft3\n" : : "r"(pairs - 1)                 \
                     : "ft0", "ft1", "ft2", "ft3", "memory");                                                              \
    tw_streams_off_written();                                                                                              \
  }                                                                                                                        \
  /* One row; b may be one element. */                                                                                     \
  static void tw_row(const tw_binary_params *p, const float *a, const float *b, float *y) {                                \
    const int32_t n = p->size[0], step = p->stride_b[0];                                                                   \
    const tw_share share = tw_share_of(n >> 1);                                                                            \
    const int32_t pairs = share.end - share.first, at = 2 * share.first;                                                   \
    if (pairs > 0) {                                                                                                       \
      TW_STREAM_RUN(0, pairs);                                                                                             \
      TW_STREAM_RUN(2, pairs);                                                                                             \
      tw_stream_read(0, 1, a + at);                                                                                        \
      tw_stream_write(2, 1, y + at);                                                                                       \
      if (step) {                                                                                                          \
        TW_STREAM_RUN(1, pairs);                                                                                           \
        tw_stream_read(1, 1, b + at);                                                                                      \
        tw_pairs(pairs);                                                                                                   \
      } else {                                                                                                             \
        tw_pairs_with(pairs, b);                                                                                           \
      }                                                                                                                    \
    }                                                                                                                      \
    if (n & 1 && tw_core() == TW_CORES - 1) y[n - 1] = tw_one(a[n - 1], b[(n - 1) * step]);                                \
  }                                                                                                                        \
  static void tw_rows(const tw_binary_params *p, const float *a, const float *b, float *y) {                               \
    const tw_share rows = tw_share_of(p->size[0]);                                                                         \
    const int32_t count = rows.end - rows.first, inner = p->rank == 3 ? p->size[1] * p->size[2] : p->size[1];              \
    if (count <= 0) return;                                                                                                \
    TW_STREAM_NEST(0, p, p->stride_a, count);                                                                              \
    TW_STREAM_NEST(1, p, p->stride_b, count);                                                                              \
    TW_STREAM_RUN(2, count * inner >> 1);                                                                                  \
    TW_STREAM_NEST_READ(0, p, a + rows.first * p->stride_a[0]);                                                            \
    TW_STREAM_NEST_READ(1, p, b + rows.first * p->stride_b[0]);                                                            \
    tw_stream_write(2, 1, y + rows.first * inner);                                                                         \
    tw_pairs(count * inner >> 1);                                                                                          \
  }                                                                                                                        \
  static TW_COMPACT void tw_one_by_one(const tw_binary_params *p, const float *a, const float *b, float *y) {              \
    const int32_t count = tw_walk_length(p->rank, p->size);                                                                \
    const tw_share share = tw_share_of(count);                                                                             \
    int32_t at_a[TW_MAX_RANK], at_b[TW_MAX_RANK];                                                                          \
    if (share.first >= share.end) return;                                                                                  \
    int32_t from_a = tw_walk_from(p->rank, p->size, p->stride_a, share.first, at_a);                                       \
    int32_t from_b = tw_walk_from(p->rank, p->size, p->stride_b, share.first, at_b);                                       \
    for (int32_t i = share.first; i < share.end; i++) {                                                                    \
      y[i] = tw_one(a[from_a], b[from_b]);                                                                                 \
      tw_walk(p->rank, p->size, p->stride_a, at_a, &from_a);                                                               \
      tw_walk(p->rank, p->size, p->stride_b, at_b, &from_b);                                                               \
    }                                                                                                                      \
  }                                                                                                                        \
  void TW_NAME(const tw_binary_params *params, const float *a, const float *b, float *y) {                                 \
    const int is_single = params->rank == 1 && params->stride_b[0] == 0;                                                   \
    if (!tw_can_stream(a, is_single ? a : b, y)) {                                                                         \
      tw_one_by_one(params, a, b, y);                                                                                      \
    } else if (params->rank == 1) {                                                                                        \
      tw_row(params, a, b, y);                                                                                             \
    } else {                                                                                                               \
      tw_rows(params, a, b, y);                                                                                            \
    }                                                                                                                      \
  }

#endif
