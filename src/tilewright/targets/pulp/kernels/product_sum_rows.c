/* y[c] = sum of a[i][c] * b[i][c]; all cores together. */
#include "channel_sums.h"

#ifndef TW_NAME
#define TW_NAME tw_product_sum_rows
#endif

#include "cluster.h"

typedef struct {
  const float *a, *b;
  int32_t rows, channels;
} operands;

/* Of channels c to c + 3. */
static __attribute__((noinline)) void four_totals(const operands *k, int32_t c, tw_share rows, float *total) {
  const int32_t step = k->channels, first = rows.first * step + c;
  const float *a = k->a + first, *b = k->b + first;
  float t0 = 0.0f, t1 = 0.0f, t2 = 0.0f, t3 = 0.0f;
  for (int32_t left = rows.end - rows.first; left > 0; left--, a += step, b += step) {
    const float a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
    t0 += a0 * b0, t1 += a1 * b1, t2 += a2 * b2, t3 += a3 * b3;
  }
  total[0] = t0, total[1] = t1, total[2] = t2, total[3] = t3;
}

static __attribute__((noinline)) float one_total(const operands *k, int32_t c, tw_share rows) {
  float total = 0.0f;
  for (int32_t i = rows.first; i < rows.end; i++) total += k->a[i * k->channels + c] * k->b[i * k->channels + c];
  return total;
}

/* Each core sums up rows of its own, then all cores' totals of some channels. */
void TW_NAME(const tw_channel_sums_params *params, const float *a, const float *b, float *y, void *scratch) {
  const operands k = {a, b, params->rows, params->channels};
  const tw_share rows = tw_share_of(k.rows);
  float *const totals = scratch, *const own = totals + tw_core() * k.channels;
  int32_t c = 0;
  for (; c + 4 <= k.channels; c += 4) four_totals(&k, c, rows, own + c);
  for (; c < k.channels; c++) own[c] = one_total(&k, c, rows);
  tw_barrier();
  for (c = tw_core(); c < k.channels; c += TW_CORES) {
    float total = totals[c];
    for (int32_t core = 1; core < TW_CORES; core++) total += totals[core * k.channels + c];
    y[c] = total;
  }
}
