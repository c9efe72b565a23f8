/* y = out(first(a) + second(b)) of bytes, each of the three a requantisation; all cores together. There are 256 values of a, 256
 * of b and few of their sum: all three are looked up, whatever they round. */
#include "requantizedadd.h"

#ifndef TW_NAME
#define TW_NAME tw_requantizedadd_tables_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "doubles_sizes.h"

/* Summands count from the lowest one. */
typedef struct {
  uint8_t *first, *second;
  TW_Y *out;
} tables;

static void fill(const tables *t, const tw_requantizedadd_params *p) {
  const tw_scaling first = p->first, second = p->second, out = p->out;
  const int32_t lowest = first.requant.low + second.requant.low;
  const tw_share bytes = tw_share_of(256), sums = tw_share_of(tw_sum_values(p));
  for (int32_t i = bytes.first; i < bytes.end; i++) {
    t->first[i] = (uint8_t)(tw_scale(&first, (TW_A)i) - first.requant.low);
    t->second[i] = (uint8_t)(tw_scale(&second, (TW_B)i) - second.requant.low);
  }
  for (int32_t i = sums.first; i < sums.end; i++) t->out[i] = (TW_Y)tw_scale(&out, lowest + i);
}

/* Four elements go side by side: what is loaded is there three cycles later. */
#define FOUR(j) for (int32_t j = 0; j < 4; j++)

static void add(const tables *t, const TW_A *a, const TW_B *b, TW_Y *y, int32_t count) {
  for (; count >= 4; count -= 4, a += 4, b += 4, y += 4) {
    int32_t one[4], other[4];
    FOUR(j) one[j] = (uint8_t)a[j];
    FOUR(j) other[j] = (uint8_t)b[j];
    FOUR(j) one[j] = t->first[one[j]];
    FOUR(j) other[j] = t->second[other[j]];
    FOUR(j) one[j] = t->out[one[j] + other[j]];
    FOUR(j) y[j] = (TW_Y)one[j];
  }
  for (; count > 0; count--) *y++ = t->out[t->first[(uint8_t)*a++] + t->second[(uint8_t)*b++]];
}

void TW_NAME(const tw_requantizedadd_params *params, const TW_A *a, const TW_B *b, TW_Y *y, void *scratch) {
  uint8_t *const room = scratch;
  const tables t = {room, room + 256, (TW_Y *)room + 512};
  int32_t count = 1;
  for (int32_t axis = 0; axis < params->loops.rank; axis++) count *= params->loops.size[axis];
  const tw_share share = tw_share_of(count);
  fill(&t, params);
  tw_barrier();
  add(&t, a + share.first, b + share.first, y + share.first, share.end - share.first);
}
