/* y = requant(scaled(a) + scaled(b)), as TensorFlow Lite adds, of bytes: there are 256 of each, so that both functions
 * are tables, which are made first. Few sums are made without. */
#include "tfliteadd.h"

#ifndef TW_NAME
#define TW_NAME tw_tfliteadd_bytes
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "binary_kernel.h"
#include "requant_row.h"

#define BYTES 256
#define LEAST_A ((TW_A)-1 < 0 ? -128 : 0)
#define LEAST_B ((TW_B)-1 < 0 ? -128 : 0)

static void fill(const tw_tfliteadd_params *p, const tw_summand *s, int32_t least, int32_t *table) {
  for (int32_t i = 0; i < BYTES; i++) table[i] = tw_scaled_summand(p, s, least + i);
}

static int32_t length_of(const tw_binary_params *loops) {
  int32_t length = 1;
  for (int32_t axis = 0; axis < loops->rank; axis++) length *= loops->size[axis];
  return length;
}

void TW_NAME(const tw_tfliteadd_params *params, const TW_A *a_all, const TW_B *b_all, TW_Y *y, void *scratch) {
  const tw_tfliteadd_params *const p = params;
  const int32_t last = p->loops.rank - 1, n = p->loops.size[last];
  const int32_t step_a = p->loops.stride_a[last], step_b = p->loops.stride_b[last];
  const int32_t length = length_of(&p->loops), exponent = p->exponent;
  const int has_tables = length > 2 * BYTES;
  /* 255 * 2^20, scaled by 1 at the most, is below 2^28. */
  const int is_small = p->left <= 20 && p->first.exponent <= 0 && p->second.exponent <= 0;
  const tw_way way = tw_way_of(1, &p->requant, &exponent, 0, 1, is_small);
  const tw_factor factor = tw_factor_of(way, &p->requant, p->mul, p->exponent);
  int32_t *const first = scratch, *const second = first + BYTES;
  int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;
  if (length == 0) return;
  if (has_tables) {
    fill(p, &p->first, LEAST_A, first);
    fill(p, &p->second, LEAST_B, second);
  }
  do {
    const TW_A *a = a_all + offset_a;
    const TW_B *b = b_all + offset_b;
    if (!has_tables) {
      for (int32_t i = 0; i < n; i++) y[i] = (TW_Y)tw_add_scaled(p, a[i * step_a], b[i * step_b]);
    } else if (way == TW_TWICE) {
      for (int32_t i = 0; i < n; i++, a += step_a, b += step_b) {
        y[i] = (TW_Y)tw_twice(&factor, first[*a - LEAST_A] + second[*b - LEAST_B]);
      }
    } else {
      for (int32_t i = 0; i < n; i++, a += step_a, b += step_b) {
        y[i] = (TW_Y)tw_requantise_scaled(&p->requant, first[*a - LEAST_A] + second[*b - LEAST_B], p->mul, exponent);
      }
    }
    y += n;
  } while (tw_binary_next_row(&p->loops, at, &offset_a, &offset_b));
}
