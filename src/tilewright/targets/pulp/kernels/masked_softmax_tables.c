/* Shares of masked scores of an attention whose heads have rows of four bytes: a row of a is one word and so is a row of
 * b. Each core has some rows of all heads, and takes them from products to shares one by one, so that nothing but shares
 * is ever stored in L2. */
#include "masked_softmax_tables.h"

#ifndef TW_NAME
#define TW_NAME tw_masked_softmax_tables_i8
#define TW_M int8_t
#define TW_Y int8_t
#endif
#define TW_X int8_t /* masked scores, as the softmax takes them */

#include "cluster.h"
#include "shares.h"
#include "starts.h"

#define TW_M_SIGNED ((TW_M)-1 < 0)
#define TW_LOWEST4 0x80808080u

TW_DEFINE_SET_STARTS(set_starts, TW_M)

#if TW_XPULP
#define TW_A_SCORE(d) TW_A_R(TW_E_DOTSP4, d, d, "%[query]")
#define TW_A_SCALE(d) "mul " d ", " d ", %[mul]\n"
#define TW_A_SHIFT(d) TW_A_R(TW_E_ADDN, d, "%[add]", "%[shift]")
#define TW_A_NARROW(d) TW_A_R(TW_E_CLIPU, d, d, "%[top]")
#define TW_A_FIRST(d) TW_A_BYTE_AT(d, "%[first]", d)
#endif

/* The masked scores of a row; returns the largest. */
static inline int32_t mask_scores(const tw_masked_softmax_tables_params *p, uint32_t query, const int8_t *b,
                                  const tw_start *starts, TW_X *x) {
  int32_t count = p->columns, four = (int32_t)TW_LOWEST4;
#if TW_XPULP
  if (count >= 4) {
    int32_t d0, d1, d2, d3, s0, s1, s2, s3;
    __asm__ volatile(
        TW_A_BEGIN TW_A_LOOP("%[words]", 36) TW_A_LW("%[d0]", "%[b]", "4") TW_A_LW("%[d1]", "%[b]", "4")
        TW_A_LW("%[d2]", "%[b]", "4") TW_A_LW("%[d3]", "%[b]", "4") TW_A_LW("%[s0]", "%[starts]", "4")
        TW_A_LW("%[s1]", "%[starts]", "4") TW_A_LW("%[s2]", "%[starts]", "4") TW_A_LW("%[s3]", "%[starts]", "4")
        TW_A_FOUR(TW_A_SCORE, "%[d0]", "%[d1]", "%[d2]", "%[d3]") TW_A_FOUR(TW_A_SCALE, "%[d0]", "%[d1]", "%[d2]", "%[d3]")
        TW_A_FOUR(TW_A_SHIFT, "%[d0]", "%[d1]", "%[d2]", "%[d3]") TW_A_FOUR(TW_A_NARROW, "%[d0]", "%[d1]", "%[d2]", "%[d3]")
        TW_A_FOUR(TW_A_FIRST, "%[d0]", "%[d1]", "%[d2]", "%[d3]")
        TW_A_BYTE_AT("%[d0]", "%[s0]", "%[d0]") TW_A_BYTE_AT("%[d1]", "%[s1]", "%[d1]")
        TW_A_BYTE_AT("%[d2]", "%[s2]", "%[d2]") TW_A_BYTE_AT("%[d3]", "%[s3]", "%[d3]")
        TW_A_PACK4("%[d0]", "%[d1]", "%[d2]", "%[d3]") TW_A_R(TW_E_MAX4, "%[four]", "%[four]", "%[d0]")
        TW_A_SW("%[d0]", "%[x]", "4") TW_A_END
        : [b] "+r"(b), [starts] "+r"(starts), [x] "+r"(x), [four] "+r"(four), [d0] "=&r"(d0), [d1] "=&r"(d1),
          [d2] "=&r"(d2), [d3] "=&r"(d3), [s0] "=&r"(s0), [s1] "=&r"(s1), [s2] "=&r"(s2), [s3] "=&r"(s3)
        : [words] "r"(count >> 2), [query] "r"(query), [first] "r"(p->first), [mul] "r"(p->score.mul),
          [add] "r"(p->score.add), [shift] "r"(p->score.shift), [top] "r"(p->score.top)
        : "memory");
  }
  count &= 3;
#endif
  int32_t largest = tw_largest_lane((uint32_t)four);
  for (; count > 0; count--, b += 4) {
    const int32_t score = tw_narrowed(&p->score, tw_x_dotsp4((int32_t)tw_x_load(b), (int32_t)query), 0);
    const TW_X masked = (TW_X)(*starts++)[p->first[score]];
    largest = tw_x_max(largest, masked);
    *x++ = masked;
  }
  return largest;
}

void TW_NAME(const tw_masked_softmax_tables_params *params, const int8_t *a, const int8_t *b, const TW_M *m, TW_Y *y,
             void *scratch) {
  const tw_masked_softmax_tables_params *const p = params;
  const uint8_t *const second = p->second + 128 * TW_M_SIGNED;
  /* One more than columns, so that those of two cores begin in different banks. */
  tw_start *const starts = (tw_start *)scratch + (p->columns + 1) * tw_core();
  const tw_share share = tw_share_of(p->rows * p->heads);
  int32_t row = (int32_t)((uint32_t)share.first / (uint32_t)p->heads), head = share.first - row * p->heads;
  for (int32_t left = share.end - share.first, fresh = 1; left > 0; left--) {
    if (fresh) set_starts(second, p->out, m + row * p->mask_row, starts, p->columns);
    const int32_t at = head * p->rows + row;
    TW_Y *const to = y + at * p->columns;
    const int32_t largest = mask_scores(p, tw_x_load(a + 4 * at), b + 4 * head * p->columns, starts, (TW_X *)to);
    tw_share_out(&p->tables, largest, (const TW_X *)to, to, p->columns);
    fresh = ++head == p->heads;
    if (fresh) head = 0, row++;
  }
}
