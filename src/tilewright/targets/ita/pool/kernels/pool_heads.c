/* Attention heads on ITAPool's ITAs, four at a time. All cores bring what an ITA reads into its block, sleep while it works,
 * and put the results of heads side by side.
 *
 * In the working memory: a block for each ITA, the first one's results, sizes and addresses of the scales. Inputs lie in the
 * first block; where the others have room for them are these ITAs' results. */
#include "pool_heads.h"

#ifndef TW_NAME
#define TW_NAME tw_pool_heads
#define TW_X int8_t
#endif
#ifndef TW_Y /* there is none: keys are made of what queries are made of */
#define TW_Y int8_t
#endif

#include "itapool.h"

void TW_NAME(const tw_pool_heads_params *params, const TW_X *x, const TW_Y *y, const int8_t *front, const int8_t *back,
             int8_t *z, void *scratch) {
  const int32_t all = params->heads, columns = params->columns, count = tw_heads_at_once(all);
  const int32_t queries = params->queries, keys = params->keys, elements = params->elements;
  const uint32_t flip_x = params->flips_x ? TW_SIGNS : 0, flip_y = params->flips_y ? TW_SIGNS : 0;
  const tw_itapool_head sizes = {keys, params->inner, params->width, {params->multipliers, params->shifts, params->adds}};
  const int32_t block_bytes = tw_block_bytes(&sizes), front_bytes = tw_front_bytes(&sizes), inputs = tw_input_bytes(&sizes);
  int8_t *const blocks = scratch;
  tw_itapool_head *const shared = (tw_itapool_head *)(void *)(blocks + count * block_bytes + inputs);
  tw_share_head(shared, &sizes, blocks);
  for (int32_t left = params->batch, is_first = 1; left > 0; left--, is_first = 0) {
    const int8_t *const from = y ? (const int8_t *)y : (const int8_t *)x;
    tw_fill_input(&sizes, blocks + front_bytes, (const int8_t *)x, queries, elements, flip_x);
    tw_fill_input(&sizes, blocks + front_bytes + inputs, from, keys, elements, y ? flip_y : flip_x);
    for (int32_t first = 0; first < all; first += TW_ITAS) {
      const int32_t heads = all - first < TW_ITAS ? all - first : TW_ITAS;
      for (int32_t i = 0; i < heads && (is_first || all > TW_ITAS); i++) {
        tw_fill_weights(&sizes, blocks + i * block_bytes, front, back, first + i);
      }
      tw_barrier();
      tw_run_heads(shared, blocks, heads, count);
      tw_barrier();
      for (int32_t i = 0; i < heads; i++) {
        tw_take_result(z + (first + i) * columns, all * columns, tw_result_of(&sizes, blocks, i, count), sizes.inner, queries, columns, 0);
      }
    }
    x += queries * elements;
    if (y) y += keys * elements;
    z += queries * all * columns;
  }
}
