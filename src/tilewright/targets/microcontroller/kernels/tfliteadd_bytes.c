/* y = requant(scaled(a) + scaled(b)), as TensorFlow Lite adds, of bytes: by tables, where they are worth it. */
#include "tfliteadd.h"

#ifndef TW_NAME
#define TW_NAME tw_tfliteadd_bytes
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "byte_sums.h"

static void fill(const tw_tfliteadd_params *p, const tw_summand *s, int32_t least, int32_t *table) {
  for (int32_t i = 0; i < TW_BYTES; i++) table[i] = tw_scaled_summand(p, s, least + i);
}

TW_DEFINE_PLAIN_SUMS(tw_tfliteadd_params, tw_add_scaled)

void TW_NAME(const tw_tfliteadd_params *params, const TW_A *a, const TW_B *b, TW_Y *y, void *scratch) {
  const tw_tfliteadd_params *const p = params;
  const int32_t sums = tw_sums_of(&p->loops);
  if (sums == 0) return;
  if (sums < TW_WORTH_TABLES) {
    plain_sums(p, a, b, y);
    return;
  }
  /* 255 * 2^20, scaled by 1 at the most, is below 2^28. */
  const int is_small = p->left <= 20 && p->first.exponent <= 0 && p->second.exponent <= 0;
  const int32_t exponent = p->exponent;
  const tw_way way = tw_way_of(1, &p->requant, &exponent, 0, 1, is_small);
  const tw_factor factor = tw_factor_of(way, &p->requant, p->mul, exponent);
  int32_t *const first = scratch, *const second = first + TW_BYTES;
  fill(p, &p->first, TW_LEAST_A, first);
  fill(p, &p->second, TW_LEAST_B, second);
  tw_sum_rows(way, &p->requant, &factor, &p->loops, first, second, a, b, y);
}
