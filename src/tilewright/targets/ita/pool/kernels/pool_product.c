/* Matrix product on ITAPool's ITAs: heads of 64 rows that attend to themselves alone, so that values come out as they are.
 * Each ITA has other 64 columns. Rows get marks: columns behind their elements with one that is not zero, another one for each
 * row; queries and keys are these columns, and values a product of the elements.
 *
 * In the working memory: a block for each ITA, the first one's results, sizes and addresses of the scales. Inputs lie in the
 * first block; where the others have room for them are these ITAs' results. */
#include "pool_product.h"

#ifndef TW_NAME
#define TW_NAME tw_pool_product
#define TW_X int8_t
#define TW_Z int8_t
#endif

#include "itapool.h"

#define SIDE TW_ITA_SIDE
#define MARK 127

/* A matrix of 64 rows in blocks of 16 columns: the last 64 columns are a diagonal of marks. */
static void mark_blocks(const tw_itapool_head *h, int8_t *matrix, int32_t row) {
  const int32_t column = h->inner - SIDE + row;
  matrix[(column >> 4) * 16 * SIDE + row * 16 + (column & 15)] = MARK;
}

/* All of a block but the weights of values; of inputs, where they are read. */
static void clear_block(const tw_itapool_head *h, int8_t *block, int32_t is_first) {
  const int32_t weights = h->inner * SIDE;
  tw_clear_part(block, weights);
  tw_clear_part(block + 2 * weights, (is_first ? 3 : 1) * weights);
  tw_clear_part(block + 5 * weights, tw_back_bytes(h));
}

/* What is the same for all products. */
static void mark_block(const tw_itapool_head *h, int8_t *block, int32_t is_first) {
  const int32_t inner = h->inner, weights = inner * SIDE;
  int8_t *const wk = block + 2 * weights, *const x = wk + weights, *const y = x + weights, *const wq = y + weights;
  const tw_share share = tw_share_of(SIDE);
  for (int32_t row = share.first; row < share.end; row++) {
    block[row * SIDE + row] = 1; /* results are values */
    wk[row * inner + inner - SIDE + row] = MARK;
    mark_blocks(h, wq, row);
    if (is_first) {
      mark_blocks(h, x, row);
      mark_blocks(h, y, row);
    }
  }
}

static void fill_weights(const tw_itapool_head *h, int8_t *block, const int8_t *w, const int32_t *bias) {
  const int32_t weights = h->inner * SIDE;
  tw_copy_part(block + weights, w, weights);
  tw_copy_part(block + 6 * weights + 4 * h->inner, (const int8_t *)bias, 4 * SIDE);
}

void TW_NAME(const tw_pool_product_params *params, const TW_X *x, const int8_t *w, const int32_t *bias, TW_Z *z, void *scratch) {
  const int32_t columns = params->columns, elements = params->elements, rows = params->batch * params->rows;
  const uint32_t flip_in = params->flips_in ? TW_SIGNS : 0, flip_out = params->flips_out ? TW_SIGNS : 0;
  const tw_itapool_head sizes = {SIDE, params->inner, SIDE, {params->multipliers, params->shifts, params->adds}};
  tw_itapool_head unmarked = sizes;
  const int32_t all = tw_column_blocks(params), count = tw_heads_at_once(all);
  const int32_t block_bytes = tw_block_bytes(&sizes), front_bytes = tw_front_bytes(&sizes), inputs = tw_input_bytes(&sizes);
  int8_t *const blocks = scratch;
  tw_itapool_head *const shared = (tw_itapool_head *)(void *)(blocks + count * block_bytes + inputs);
  unmarked.inner -= SIDE;
  tw_share_head(shared, &sizes, blocks);
  for (int32_t i = 0; i < count; i++) clear_block(&sizes, blocks + i * block_bytes, i == 0);
  tw_barrier();
  for (int32_t i = 0; i < count; i++) mark_block(&sizes, blocks + i * block_bytes, i == 0);
  for (int32_t first = 0; first < all; first += TW_ITAS) {
    const int32_t heads = all - first < TW_ITAS ? all - first : TW_ITAS;
    for (int32_t i = 0; i < heads; i++) {
      fill_weights(&sizes, blocks + i * block_bytes, w + (first + i) * sizes.inner * SIDE, bias + (first + i) * SIDE);
    }
    for (int32_t row = 0; row < rows; row += SIDE) {
      const int32_t here = rows - row < SIDE ? rows - row : SIDE;
      tw_fill_input(&unmarked, blocks + front_bytes + inputs, (const int8_t *)x + row * elements, here, elements, flip_in);
      tw_barrier();
      tw_run_heads(shared, blocks, heads, count);
      tw_barrier();
      for (int32_t i = 0; i < heads; i++) {
        const int32_t at = (first + i) * SIDE, wide = columns - at < SIDE ? columns - at : SIDE;
        tw_take_result((int8_t *)z + row * columns + at, columns, tw_result_of(&sizes, blocks, i, count), sizes.inner, here, wide, flip_out);
      }
    }
  }
}
