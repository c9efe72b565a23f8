/* Of products of rows of bytes with the rows of b, requantised, the best of each block of them and its place; all cores
 * together, each with blocks of its own. Nothing else is stored. */
#ifndef TW_NAME
#define TW_NAME tw_argmaxmatmul_dots
#define TW_A int8_t
#define TW_B int8_t
#define TW_BEST int16_t
#endif

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
#define TW_Y_IS_WIDE 1

#include "argmaxmatmul.h"
#include "cluster.h"
#include "columns.h"
#include "dots_row.h"
#include "requant_words.h"

#define LARGEST_PRODUCT ((TW_A_SIGNED ? 128u : 255u) * (TW_B_SIGNED ? 128u : 255u))

typedef struct {
  const tw_argmaxmatmul_params *p;
  const int32_t *c, *mul, *add;
  uint32_t most; /* that a sum of products may be, and what words begin with where totals are known to be small */
  tw_dots_rows dots;
  tw_columns columns;
} work;

typedef struct {
  int32_t value, at;
} best;

/* One way for all words whose totals begin with little; the others go one by one. */
static TW_COMPACT void choose(work *k) {
  const tw_requant *const r = &k->p->requant;
  k->most = (uint32_t)k->p->length * LARGEST_PRODUCT;
  tw_columns_plain(&k->columns);
  k->columns.mode = TW_EXACT;
  k->columns.less[0] = k->columns.less[1] = 0;
  if (k->add || sizeof(TW_BEST) != 2 || k->most >> 29) return;
  const int32_t offset = tw_wide_offset(&k->columns, r, 0, k->c ? 2 * k->most : k->most);
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

/* What is no larger before it is clipped, and before ties are looked at, is not better after that. */
static inline void wide_word(work *k, int32_t total, int32_t word, best *found) {
  tw_columns *const columns = &k->columns;
  const int32_t mul = k->mul[word], wide = (int32_t)((uint32_t)total << columns->bound);
  const int32_t sum = (int32_t)((int64_t)wide * mul >> 32) + columns->add[0];
  if (sum >> columns->shift <= found->value) return;
  columns->mul[0] = mul;
  keep(found, tw_wide_finish(columns, total, 0), word);
}

static inline void four_words(work *k, const TW_A *a, const TW_B *b, int32_t word, best *found) {
  int32_t total[4] = {0, 0, 0, 0};
  uint32_t begins = 0;
  for (int f = 0; k->c && f < 4; f++) {
    total[f] = k->c[word + f];
    begins |= tw_magnitude(total[f]);
  }
  tw_dots_row(&k->dots, a, b + word * k->p->length, total, TW_A_SIGNED, TW_B_SIGNED);
  if (k->columns.mode == TW_WIDE && begins <= k->most) {
    for (int f = 0; f < 4; f++) wide_word(k, total[f], word + f, found);
  } else {
    for (int f = 0; f < 4; f++) keep(found, exact(k, total[f], word + f), word + f);
  }
}

void TW_NAME(const tw_argmaxmatmul_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
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
