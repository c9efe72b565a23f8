/* Working memory of attention of masked scores. */
#ifndef TW_MASKED_ATTENTION_SIZES_H
#define TW_MASKED_ATTENTION_SIZES_H

#include "masked_attention.h"

/* Rows of scores that a core has at a time, and quads of rows. */
#define TW_HEADS 16
#define TW_QUADS 6

/* Products of rows of one word are no larger than 128 times this. */
#define TW_SHORT_ROW 255

/* Bytes of what a core has besides rows, and of masks: on the cores, where pointers have four. */
#define TW_OWN_ROWS 68
#define TW_MASK_WORD 12
#define TW_OWN_QUADS 964
#define TW_QUAD_MASK 60

/* How far scores are from the middle at most, and words of a table of all of them. */
static inline int32_t tw_reach_of(const tw_scoring *s) {
  const int32_t size = s->factor < 0 ? -s->factor : s->factor;
  return ((size * 128 * TW_SHORT_ROW + (1 << 15)) >> 16) + 1;
}

static inline int32_t tw_table_words(int32_t reach) { return (2 * reach + 4) >> 2; }

/* Values stored anew, a table of scores, and for each core what it has of a mask and rows of some heads. */
static inline int64_t tw_masked_attention_scratch(const tw_masked_attention_params *p, int32_t cores) {
  const int64_t words = (p->shares.columns + 3) >> 2, heads = p->shares.heads;
  const int64_t own = TW_OWN_ROWS + TW_MASK_WORD * p->mask_words + 4 * words * (heads < TW_HEADS ? heads : TW_HEADS);
  return 4 * words * heads * 4 * p->strips + TW_SCORES + cores * own;
}

/* Values stored anew, masks of rows, tables of scores, masked or not, and for each core some quads. */
static inline int64_t tw_masked_quads_scratch(const tw_masked_attention_params *p, int32_t cores) {
  const int64_t columns = p->shares.columns, own = TW_OWN_QUADS + 4 * TW_QUADS * (columns + 4);
  const int64_t tables = 2 * 4 * tw_table_words(tw_reach_of(&p->shares.scores));
  return 4 * columns * p->shares.heads + TW_QUAD_MASK * ((p->shares.rows + 3) / 4) + tables + cores * own;
}

#endif
