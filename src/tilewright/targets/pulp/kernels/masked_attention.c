/* Attention of masked scores: shares as in masked_softmax.c, which are never stored but row by row, with values.
 *
 * Values are stored anew first: four rows of four become four words, one for each column. A word of shares meets them one
 * after the other. What a row has no shares of is not multiplied. */
#include "masked_attention.h"

#ifndef TW_NAME
#define TW_NAME tw_masked_attention_i8
#define TW_M int8_t
#endif
#define TW_Y uint8_t /* shares: those of signed bytes are not negative either */
#define TW_KEEPS_ENDS

#include "masked_heads.h"
#include "turned_values.h"

/* ---- results ---- */

/* Totals of four columns. */
static inline __attribute__((always_inline)) void mix_words(const uint8_t *shares, const uint32_t *v, int32_t words,
                                                            int32_t total[4]) {
  int32_t t0 = 0, t1 = 0, t2 = 0, t3 = 0;
#if TW_XPULP
  uint32_t four, v0, v1, v2, v3;
  if (words > 0) {
    __asm__ volatile(
        TW_A_BEGIN TW_A_LOOP("%[words]", 9) TW_A_LW("%[four]", "%[shares]", "4") TW_A_LW("%[v0]", "%[v]", "4")
        TW_A_LW("%[v1]", "%[v]", "4") TW_A_LW("%[v2]", "%[v]", "4") TW_A_LW("%[v3]", "%[v]", "4")
        TW_A_R(TW_E_SDOTUSP4, "%[t0]", "%[four]", "%[v0]") TW_A_R(TW_E_SDOTUSP4, "%[t1]", "%[four]", "%[v1]")
        TW_A_R(TW_E_SDOTUSP4, "%[t2]", "%[four]", "%[v2]") TW_A_R(TW_E_SDOTUSP4, "%[t3]", "%[four]", "%[v3]")
        TW_A_END
        : [shares] "+r"(shares), [v] "+r"(v), [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3),
          [four] "=&r"(four), [v0] "=&r"(v0), [v1] "=&r"(v1), [v2] "=&r"(v2), [v3] "=&r"(v3)
        : [words] "r"(words)
        : "memory");
  }
#else
  for (; words > 0; words--, shares += 4, v += 4) {
    const uint32_t four = tw_x_load(shares);
    t0 = tw_x_sdotusp4(t0, four, v[0]), t1 = tw_x_sdotusp4(t1, four, v[1]);
    t2 = tw_x_sdotusp4(t2, four, v[2]), t3 = tw_x_sdotusp4(t3, four, v[3]);
  }
#endif
  total[0] = t0, total[1] = t1, total[2] = t2, total[3] = t3;
}

/* One row of each of some heads; `v` are the values of the first. What is needed of the parameters is in registers: they
 * may lie in L2. */
static inline __attribute__((always_inline)) void mix_some(const tw_masked_attention_params *p, int even,
                                                           const head_rows *h, const uint32_t *v, int8_t *y) {
  const int32_t words = (p->shares.columns + 3) >> 2, strips = p->strips, y_head = p->y_head, count = h->count;
  const int32_t low = (int32_t)p->low, step = h->y_step;
  const tw_narrowing mix = p->mix;
  const int16_t *const ends = h->ends;
  const uint8_t *x = h->y;
  for (int32_t i = 0; i < count; i++, x += step, y += y_head) {
    const int32_t own = (ends[i] + 3) >> 2;
    for (int32_t strip = 0; strip < strips; strip++, v += 4 * words) {
      int32_t total[4];
      mix_words(x, v, own, total);
      for (int f = 0; f < 4; f++) total[f] = tw_narrowed(&mix, total[f], even);
      const uint32_t four = tw_x_pack4(total[0], total[1], total[2], total[3]);
      tw_x_store(y + 4 * strip, (uint32_t)tw_x_add4((int32_t)four, low));
    }
  }
}

static __attribute__((noinline)) void mix_heads(const tw_masked_attention_params *p, const head_rows *h, const uint32_t *v,
                                                int8_t *y) {
  mix_some(p, 0, h, v, y);
}

/* Where ties go to the even neighbour. */
static __attribute__((noinline)) void mix_heads_even(const tw_masked_attention_params *p, const head_rows *h,
                                                     const uint32_t *v, int8_t *y) {
  mix_some(p, 1, h, v, y);
}

/* ---- the call ---- */

/* Of each core, with a row for each head behind it. */
typedef struct {
  uint8_t loud[TW_HEADS], quiet[TW_HEADS];
  int16_t ends[TW_HEADS];
  uint32_t skew; /* nothing; but so cores begin in different banks */
  mask_word words[];
} own_memory;

void TW_NAME(const tw_masked_attention_params *params, const int8_t *a, const int8_t *b, const TW_M *m, const int8_t *v,
             int8_t *y, void *scratch) {
  const tw_masked_softmax_params *const p = &params->shares;
  const int32_t length = 4 * p->scores.words, way = tw_scoring_way(&p->scores), words = (p->columns + 3) >> 2;
  const int32_t together = tw_x_min(TW_HEADS, p->heads), of_values = 4 * params->strips * words;
  const int32_t bytes = (int32_t)sizeof(own_memory) + params->mask_words * (int32_t)sizeof(mask_word);
  uint32_t *const turned = scratch;
  uint8_t *const table = (uint8_t *)(turned + p->heads * of_values);
  own_memory *const own = (own_memory *)(table + TW_SCORES + (bytes + together * 4 * words) * tw_core());
  uint8_t *const x = (uint8_t *)own + bytes;
  mask_row mask;
  mask.words = own->words;
  mask.most = params->mask_words;
  turn_values(params, v, turned);
  mask.quiet = set_alike(p->masks, m, p->columns, p->scores.table, TW_SCORES / 4, table);
  const tw_share share = tw_share_of(p->rows * p->heads);
  int32_t turn = (int32_t)((uint32_t)share.first / (uint32_t)p->heads), head = share.first - turn * p->heads;
  for (int32_t left = share.end - share.first, fresh = 1; left > 0;) {
    const int32_t row = tw_row_in_turn(p->rows, turn);
    if (fresh) set_mask(p->masks, m + row * p->mask_row, p->columns, &mask);
    const int32_t count = tw_x_min(tw_x_min(TW_HEADS, left), p->heads - head);
    const head_rows heads = {
        a + length * (head * p->rows + row), b + length * head * p->columns, x, length * p->rows, length * p->columns,
        4 * words, count, own->loud, own->quiet, own->ends,
    };
    if (score(way, p, &mask, &heads)) {
      share_all(p, &mask, &heads);
    } else {
      share_loud(p, &mask, &heads);
    }
    int8_t *const to = y + head * params->y_head + row * params->y_row;
    if (params->mix.even) {
      mix_heads_even(params, &heads, turned + head * of_values, to);
    } else {
      mix_heads(params, &heads, turned + head * of_values, to);
    }
    left -= count;
    head += count;
    fresh = 0;
    if (head == p->heads) head = 0, turn++, fresh = p->mask_row > 0;
  }
}
