/* Attention heads on ITAPool's ITAs, four at a time. All cores bring what an ITA reads into its block, sleep while it works,
 * and put the results of heads side by side.
 *
 * In the working memory: a block for each ITA, the first one's results, addresses of the scales. Inputs lie in the first
 * block; where the others have room for them are these ITAs' results. */
#include "pool_heads.h"

#ifndef TW_NAME
#define TW_NAME tw_pool_heads
#define TW_X int8_t
#endif
#ifndef TW_Y /* there is none: keys are made of what queries are made of */
#define TW_Y int8_t
#endif

#include "itapool.h"
#include "tile_rows.h"

#define PIECE 16 /* columns side by side */

/* Rows in blocks of columns, with zeros behind the last ones. */
static void fill_input(const tw_pool_heads_params *p, int8_t *to, const int8_t *rows, int32_t count, uint32_t flip) {
  const tw_share share = tw_share_of(p->inner / PIECE * p->keys);
  int32_t column = share.first / p->keys * PIECE, row = share.first % p->keys;
  to += share.first * PIECE;
  for (int32_t left = share.end - share.first; left > 0; left--, to += PIECE) {
    int32_t bytes = row < count ? p->elements - column : 0;
    if (bytes > PIECE) bytes = PIECE;
    if (bytes > 0) tw_copy_row(to, rows + row * p->elements + column, bytes, flip);
    for (int32_t at = bytes > 0 ? bytes : 0; at < PIECE; at++) to[at] = 0;
    if (++row == p->keys) {
      row = 0;
      column += PIECE;
    }
  }
}

static int8_t *result_of(const tw_itapool_head *h, int8_t *blocks, int32_t number, int32_t count) {
  if (number == 0) return blocks + count * tw_block_bytes(h);
  return blocks + number * tw_block_bytes(h) + tw_front_bytes(h);
}

/* All of them work at a time; this core begins and awaits its own. */
static void run_heads(const tw_itapool_head *h, int8_t *blocks, int32_t heads, int32_t count) {
  for (int32_t i = tw_core(); i < heads; i += TW_CORES) {
    tw_ita_start(i, h, blocks + i * tw_block_bytes(h), result_of(h, blocks, i, count));
  }
  for (int32_t i = tw_core(); i < heads; i += TW_CORES) tw_ita_wait(i);
}

static void join_results(const tw_pool_heads_params *p, int8_t *z, const int8_t *made, int32_t head) {
  const tw_share share = tw_share_of(p->queries);
  for (int32_t row = share.first; row < share.end; row++) {
    tw_copy_row(z + (row * p->heads + head) * p->columns, made + row * p->inner, p->columns, 0);
  }
}

void TW_NAME(const tw_pool_heads_params *params, const TW_X *x, const TW_Y *y, const int8_t *front, const int8_t *back,
             int8_t *z, void *scratch) {
  const tw_pool_heads_params *const p = params;
  const int32_t count = p->heads < TW_ITAS ? p->heads : TW_ITAS;
  int8_t *const blocks = scratch;
  tw_itapool_head sizes = {p->keys, p->inner, p->width, {p->multipliers, p->shifts, p->adds}};
  tw_itapool_head *const h = (tw_itapool_head *)(void *)(blocks + count * tw_block_bytes(&sizes) + tw_input_bytes(&sizes));
  const int32_t front_bytes = tw_front_bytes(&sizes), back_bytes = tw_back_bytes(&sizes), inputs = tw_input_bytes(&sizes);
  if (tw_core() == 0) *h = sizes;
  for (int32_t matrix = 0; matrix < p->batch; matrix++) {
    const int8_t *const queries = (const int8_t *)x + matrix * p->queries * p->elements;
    const int8_t *const keys = y ? (const int8_t *)y + matrix * p->keys * p->elements : queries;
    fill_input(p, blocks + front_bytes, queries, p->queries, TW_FLIP(p->flips_x));
    fill_input(p, blocks + front_bytes + inputs, keys, p->keys, TW_FLIP(p->flips_y));
    for (int32_t first = 0; first < p->heads; first += TW_ITAS) {
      const int32_t heads = p->heads - first < TW_ITAS ? p->heads - first : TW_ITAS;
      for (int32_t i = 0; i < heads && (matrix == 0 || p->heads > TW_ITAS); i++) {
        int8_t *const block = blocks + i * tw_block_bytes(&sizes);
        tw_copy_part(block, front + (first + i) * front_bytes, front_bytes);
        tw_copy_part(block + front_bytes + 2 * inputs, back + (first + i) * back_bytes, back_bytes);
      }
      tw_barrier();
      run_heads(h, blocks, heads, count);
      tw_barrier();
      for (int32_t i = 0; i < heads; i++) join_results(p, z, result_of(h, blocks, i, count), first + i);
    }
    z += p->queries * p->heads * p->columns;
  }
}
