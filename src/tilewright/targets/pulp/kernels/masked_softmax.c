/* Shares of masked scores of an attention. Each core has some rows of all heads, and takes them from products to shares
 * one by one, so that nothing but shares is ever stored in L2.
 *
 * What a mask makes unimportant is not computed: a row's last columns, if they are all masked alike, are quiet. Where their
 * exponentials are 0 whatever their scores are, there are no products; where no share of them can be more than 0, they
 * are only part of the total. */
#include "masked_softmax.h"

#ifndef TW_NAME
#define TW_NAME tw_masked_softmax_i8
#define TW_M int8_t
#define TW_Y int8_t
#endif
#include "masked_heads.h"

/* Of each core. */
typedef struct {
  uint8_t loud[TW_HEADS], quiet[TW_HEADS];
  uint32_t skew; /* nothing; but so cores begin in different banks */
  mask_word words[];
} own_memory;

void TW_NAME(const tw_masked_softmax_params *params, const int8_t *a, const int8_t *b, const TW_M *m, TW_Y *y,
             void *scratch) {
  const tw_masked_softmax_params *const p = params;
  const int32_t length = 4 * p->scores.words, way = tw_scoring_way(&p->scores);
  const int32_t bytes = (int32_t)sizeof(own_memory) + (p->columns >> 2) * (int32_t)sizeof(mask_word);
  uint8_t *const table = scratch;
  own_memory *const own = (own_memory *)(table + TW_SCORES + bytes * tw_core());
  mask_row mask;
  mask.words = own->words;
  mask.most = p->columns >> 2;
  mask.quiet = set_alike(p->masks, m, p->columns, p->scores.table, TW_SCORES / 4, table);
  const tw_share share = tw_share_of(p->rows * p->heads);
  int32_t turn = (int32_t)((uint32_t)share.first / (uint32_t)p->heads), head = share.first - turn * p->heads;
  for (int32_t left = share.end - share.first, fresh = 1; left > 0;) {
    const int32_t row = tw_row_in_turn(p->rows, turn), at = head * p->rows + row;
    if (fresh) set_mask(p->masks, m + row * p->mask_row, p->columns, &mask);
    const int32_t count = tw_x_min(tw_x_min(TW_HEADS, left), p->heads - head);
    const head_rows heads = {
        a + length * at, b + length * head * p->columns, (uint8_t *)y + at * p->columns, length * p->rows,
        length * p->columns, p->rows * p->columns, count, own->loud, own->quiet, 0,
    };
    if (score(way, p, &mask, &heads)) {
      share_all(p, &mask, &heads);
    } else {
      share_loud(p, &mask, &heads);
    }
    left -= count;
    head += count;
    fresh = 0;
    if (head == p->heads) head = 0, turn++, fresh = p->mask_row > 0;
  }
}
