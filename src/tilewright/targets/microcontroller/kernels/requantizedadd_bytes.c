/* y = out(first(a) + second(b)), each of the three a requantisation, of bytes: by tables, where they are worth it. */
#include "requantizedadd.h"

#include "int32.h"

#ifndef TW_NAME
#define TW_NAME tw_requantizedadd_bytes
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "byte_sums.h"

static void fill(const tw_scaling *s, int32_t least, int32_t *table) {
  for (int32_t i = 0; i < TW_BYTES; i++) table[i] = tw_scale(s, least + i);
}

/* Whether results of a scaling are below 2^29 in size. */
static int is_small(const tw_scaling *s) { return s->requant.low > -(1 << 29) && s->requant.high < 1 << 29; }

static inline int32_t sum_of(const tw_requantizedadd_params *p, int32_t a, int32_t b) {
  return tw_scale(&p->out, tw_add32(tw_scale(&p->first, a), tw_scale(&p->second, b)));
}

TW_DEFINE_PLAIN_SUMS(tw_requantizedadd_params, sum_of)

void TW_NAME(const tw_requantizedadd_params *params, const TW_A *a, const TW_B *b, TW_Y *y, void *scratch) {
  const tw_requantizedadd_params *const p = params;
  const int32_t sums = tw_sums_of(&p->loops);
  if (sums == 0) return;
  if (sums < TW_WORTH_TABLES || !is_small(&p->first) || !is_small(&p->second)) {
    plain_sums(p, a, b, y);
    return;
  }
  const tw_requant *const r = &p->out.requant;
  const int has_add = p->out.add != 0 || TW_IS_TFLITE(r);
  const tw_way way = tw_way_of(1, r, has_add ? &p->out.add : 0, 0, 1, 1);
  const tw_factor factor = tw_factor_of(way, r, p->out.mul, p->out.add);
  int32_t *const first = scratch, *const second = first + TW_BYTES;
  fill(&p->first, TW_LEAST_A, first);
  fill(&p->second, TW_LEAST_B, second);
  tw_sum_rows(way, r, &factor, &p->loops, first, second, a, b, y);
}
