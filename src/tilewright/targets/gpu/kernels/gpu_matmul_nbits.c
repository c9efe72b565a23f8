/* y[i, j] = sum of a[i, k] * (b[j, k] - zero) * scale, with weights of TW_BITS bits in blocks: 32 items have a column for
 * some rows, and read its weights word by word, neighbours side by side, several on their way together. */
#define TW_GROUP_SIZE 128
#include "gpu_lanes.h"
#include "half.h"
#include "matmul_nbits.h"

#ifndef TW_NAME
#include "gpu_bits_4.h"
#define TW_NAME tw_gpu_matmul_nbits
#define TW_A float
#define TW_Y float
#endif
#ifndef TW_A_LOAD
#define TW_A_LOAD(element) (element)
#endif
#ifndef TW_Y_STORE
#define TW_Y_STORE(value) (value)
#endif

enum {
  TW_WARP = 32,
  TW_WARPS = TW_GROUP_SIZE / TW_WARP,
  TW_ROWS = 4, /* for which weights are read once */
  TW_WORD = 4, /* bytes */
  TW_WEIGHTS = 8 * TW_WORD / TW_BITS, /* of a word */
  TW_TOGETHER = 4, /* words that an item reads together */
  TW_LEVELS = (1 << TW_BITS) - 1
};

typedef uint32_t __attribute__((may_alias)) tw_few_bits;
typedef struct {
  TW_A at[4];
} __attribute__((aligned(4 * sizeof(TW_A)), may_alias)) tw_four;

/* What a group works on. */
typedef struct {
  const tw_matmul_nbits_params *p;
  const TW_A *a; /* of its first row */
  const uint8_t *b;
  const float *scales;
  const uint8_t *zeros;
  int32_t rows, bytes; /* of a piece: a word, or a byte where blocks are not whole words */
  int32_t shift;       /* pieces of a block are 1 << shift; negative where they are no such number */
} tw_work;

TW_GPU int32_t tw_block_of(const tw_work *w, int32_t piece) {
  return w->shift >= 0 ? piece >> w->shift : piece * w->bytes / w->p->block_bytes;
}

/* A level as a number: the last bits of a float of this size count ones. */
TW_GPU float tw_number(uint32_t level, float zero) { return tw_float_of_bits(0x4b000000u | level) - zero; }

/* What a piece of a column is: its levels, the number of their zero (tw_number), and their scale. */
typedef struct {
  uint32_t levels;
  float zero, scale;
} tw_piece;

TW_GPU tw_piece tw_piece_at(const tw_work *w, int32_t column, int32_t i) {
  const uint8_t *const weights = w->b + (int64_t)column * w->p->blocks * w->p->block_bytes;
  const int64_t block = (int64_t)column * w->p->blocks + tw_block_of(w, i);
  const uint32_t zero = w->zeros ? w->zeros[block] : 1u << (TW_BITS - 1);
  const tw_piece found = {w->bytes == TW_WORD ? ((const tw_few_bits *)weights)[i] : weights[i],
                          8388608.0f + (float)zero, w->scales[block]};
  return found;
}

/* What a whole word adds to the sums of all rows, from an element on. */
TW_GPU void tw_add_word(const tw_work *w, float *sums, const tw_piece *piece, int32_t first) {
  float numbers[TW_WEIGHTS];
  TW_UNROLL for (int32_t i = 0; i < TW_WEIGHTS; i++) {
    numbers[i] = tw_number(piece->levels >> i * TW_BITS & TW_LEVELS, piece->zero);
  }
  TW_UNROLL for (int32_t row = 0; row < TW_ROWS; row++) {
    if (row < w->rows) {
      const tw_four *const from = (const tw_four *)(w->a + (int64_t)row * w->p->inner + first);
      float sum = 0.0f;
      TW_UNROLL for (int32_t four = 0; four < TW_WEIGHTS / 4; four++) {
        const tw_four a = from[four];
        TW_UNROLL for (int32_t i = 0; i < 4; i++) sum += TW_A_LOAD(a.at[i]) * numbers[four * 4 + i];
      }
      sums[row] += sum * piece->scale;
    }
  }
}

/* The same of a piece of which some may be behind the last weight. */
TW_GPU void tw_add_piece(const tw_work *w, float *sums, const tw_piece *piece, int32_t first) {
  const int32_t end = first + w->bytes * 8 / TW_BITS;
  for (int32_t k = first; k < end && k < w->p->inner; k++) {
    const float weight = tw_number(piece->levels >> (k - first) * TW_BITS & TW_LEVELS, piece->zero) * piece->scale;
    TW_UNROLL for (int32_t row = 0; row < TW_ROWS; row++) {
      if (row < w->rows) sums[row] += TW_A_LOAD(w->a[(int64_t)row * w->p->inner + k]) * weight;
    }
  }
}

/* An item's words of a column, which are whole. */
TW_GPU void tw_add_words(const tw_work *w, float *sums, int32_t column, int32_t t) {
  const int32_t words = w->p->inner / TW_WEIGHTS;
  for (int32_t i = t % TW_WARP; i < words; i += TW_TOGETHER * TW_WARP) {
    tw_piece some[TW_TOGETHER];
    TW_UNROLL for (int32_t j = 0; j < TW_TOGETHER; j++) {
      some[j] = tw_piece_at(w, column, i + j * TW_WARP < words ? i + j * TW_WARP : i);
    }
    TW_UNROLL for (int32_t j = 0; j < TW_TOGETHER; j++) {
      if (i + j * TW_WARP < words) tw_add_word(w, sums, &some[j], (i + j * TW_WARP) * TW_WEIGHTS);
    }
  }
}

TW_GPU void tw_add_pieces(const tw_work *w, float *sums, int32_t column, int32_t t) {
  for (int32_t i = t % TW_WARP; i < w->p->blocks * w->p->block_bytes / w->bytes; i += TW_WARP) {
    const tw_piece piece = tw_piece_at(w, column, i);
    tw_add_piece(w, sums, &piece, i * (w->bytes * 8 / TW_BITS));
  }
}

static inline tw_grid grid(const tw_matmul_nbits_params *params) {
  const tw_grid groups = {(params->columns + TW_WARPS - 1) / TW_WARPS, (params->rows + TW_ROWS - 1) / TW_ROWS, 1};
  return groups;
}

/* The exponent of a power of two, or -1. */
TW_GPU int32_t tw_exponent(int32_t x) {
  int32_t found = 0;
  while (found < 30 && 1 << found < x) found++;
  return 1 << found == x ? found : -1;
}

TW_GPU void group(const tw_matmul_nbits_params *params, const TW_A *a, const uint8_t *b, const float *scales,
                  const uint8_t *zeros, TW_Y *y) {
  const int32_t first_row = TW_GROUP_Y * TW_ROWS, left = params->rows - first_row, rows = left < TW_ROWS ? left : TW_ROWS;
  const int32_t bytes = params->block_bytes % TW_WORD ? 1 : TW_WORD;
  const tw_work w = {params, a + (int64_t)first_row * params->inner, b, scales, zeros, rows, bytes,
                     tw_exponent(params->block_bytes / bytes)};
  const int32_t is_whole = bytes == TW_WORD && params->inner == params->blocks * params->block;
  TW_ITEM_OWN(float, sums, [TW_ROWS]);
  TW_ITEM_OWN(float, other, [TW_ROWS]);
  TW_ITEMS(t) {
    const int32_t own = TW_GROUP_X * TW_WARPS + t / TW_WARP, column = own < params->columns ? own : 0;
    TW_UNROLL for (int32_t row = 0; row < TW_ROWS; row++) sums[TW_OWN(t)][row] = 0.0f;
    if (is_whole) {
      tw_add_words(&w, sums[TW_OWN(t)], column, t);
    } else {
      tw_add_pieces(&w, sums[TW_OWN(t)], column, t);
    }
  }
  TW_SUM_LANES(sums, other, 0, TW_ROWS, TW_WARP);
  TW_ITEMS(t) {
    const int32_t column = TW_GROUP_X * TW_WARPS + t / TW_WARP, row = t % TW_WARP;
    TW_UNROLL for (int32_t i = 0; i < TW_ROWS; i++) {
      if (row == i && i < rows && column < params->columns) {
        y[(int64_t)(first_row + i) * params->columns + column] = TW_Y_STORE(sums[TW_OWN(t)][i]);
      }
    }
  }
}

TW_GPU_KERNEL(tw_matmul_nbits_params,
              (const TW_A *a, const uint8_t *b, const float *scales, const uint8_t *zeros, TW_Y *y),
              (a, b, scales, zeros, y))
