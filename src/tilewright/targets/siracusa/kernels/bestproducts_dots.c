/* Of products of rows of bytes with the rows of b, requantised, the best of each block of them and its place; all cores
 * together, each with blocks of its own. Nothing else is stored. */
#ifndef TW_NAME
#define TW_NAME tw_bestproducts_dots
#define TW_A int8_t
#define TW_B int8_t
#define TW_BEST int16_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
#define TW_Y_IS_WIDE 1

#include "bestproducts.h"
#include "cluster.h"
#include "columns.h"
#include "dots_row.h"
#include "requant_words.h"

#define LARGEST_PRODUCT ((TW_A_SIGNED ? 128u : 255u) * (TW_B_SIGNED ? 128u : 255u))

typedef struct {
  const tw_bestproducts_params *p;
  const int32_t *c, *mul, *add;
  tw_dots_rows dots;
  tw_columns columns;
} work;

typedef struct {
  int32_t value, at;
} best;

/* One way for all words, if their totals are known to be small with what each begins with; else one by one. */
static TW_COMPACT void choose(work *k) {
  const tw_bestproducts_params *const p = k->p;
  const uint32_t most = (uint32_t)p->length * LARGEST_PRODUCT;
  uint32_t begins = 0;
  tw_columns_plain(&k->columns);
  k->columns.mode = TW_EXACT;
  if (k->add || sizeof(TW_BEST) != 2) return;
  for (int32_t word = 0; k->c && word < p->words; word++) begins |= tw_magnitude(k->c[word]);
  if (begins >> 30 || most >> 30) return;
  const int32_t offset = tw_wide_offset(&k->columns, &p->requant, 0, most + begins);
  for (int f = 0; f < 4; f++) k->columns.add[f] = offset;
}

static inline void keep(best *found, int32_t value, int32_t at) {
  if (value <= found->value) return;
  found->value = value;
  found->at = at;
}

static inline int32_t exact(const work *k, int32_t total, int32_t word) {
  return tw_requantise_words(&k->p->requant, total, k->mul[word], k->add ? k->add[word] : 0);
}

static TW_COMPACT void one_word(const work *k, const TW_A *a, const TW_B *b, int32_t word, best *found) {
  int32_t total = k->c ? k->c[word] : 0;
  b += word * k->p->length;
  for (int32_t i = 0; i < k->p->length; i++) total += a[i] * b[i];
  keep(found, exact(k, total, word), word);
}

static inline void four_words(work *k, const TW_A *a, const TW_B *b, int32_t word, best *found) {
  int32_t total[4] = {0, 0, 0, 0};
  for (int f = 0; k->c && f < 4; f++) total[f] = k->c[word + f];
  tw_dots_row(&k->dots, a, b + word * k->p->length, total, TW_A_SIGNED, TW_B_SIGNED);
  for (int f = 0; f < 4; f++) {
    k->columns.mul[f] = k->mul[word + f];
    const int32_t value = k->columns.mode == TW_WIDE ? tw_wide_finish(&k->columns, total[f], f) : exact(k, total[f], word + f);
    keep(found, value, word + f);
  }
}

void TW_NAME(const tw_bestproducts_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_BEST *best_of, int32_t *place) {
  work k;
  k.p = params, k.c = c, k.mul = mul, k.add = add;
  const int32_t blocks = params->blocks;
  const tw_share share = tw_share_of(params->rows * blocks);
  if (share.first >= share.end) return;
  choose(&k);
  tw_dots_rows_length(&k.dots, params->length, params->length);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t row = i / blocks, first = (i - row * blocks) * params->block, end = tw_block_end(params, first);
    const TW_A *const from = a + row * params->length;
    best found = {INT32_MIN, first};
    int32_t word = first;
    for (; word + 4 <= end; word += 4) four_words(&k, from, b, word, &found);
    for (; word < end; word++) one_word(&k, from, b, word, &found);
    best_of[i] = (TW_BEST)found.value;
    place[i] = found.at - first;
  }
}
