/* y = softmax(bent(scale * q k')) v of floats, where bent(s) = cap * tanh(s / cap), over the last keys that each query
 * sees. One query after another: the scores of one are all that is ever stored. */
#include "limitedattention.h"

#include <math.h>

#include "fast_exp.h"
#include "portable_dots.h"
#include "sums.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_limitedattention
#endif

/* Shares of keys that lie `step` apart. */
static void share(const tw_limitedattention_params *p, const float *q, const float *k, int32_t step, int32_t count,
                  float *row) {
  for (int32_t s = 0; s < count; s++) row[s] = p->scale * tw_dot(q, k + s * step, p->rows.length);
  for (int32_t s = 0; p->cap > 0.0f && s < count; s++) row[s] = p->cap * tanhf(row[s] / p->cap);
  const float largest = tw_largest(row, count);
  for (int32_t s = 0; s < count; s++) row[s] = tw_exp(row[s] - largest);
  const float unit = 1.0f / tw_sum(row, count);
  for (int32_t s = 0; s < count; s++) row[s] *= unit;
}

static void mix(const float *row, const float *v, int32_t step, int32_t count, int32_t width, float *y) {
  for (int32_t e = 0; e < width; e++) y[e] = 0.0f;
  for (int32_t s = 0; s < count; s++) {
    for (int32_t e = 0; e < width; e++) y[e] += row[s] * v[s * step + e];
  }
}

void TW_NAME(const tw_limitedattention_params *params, const float *q, const float *k, const float *v,
             const int32_t *position, float *y, void *scratch) {
  const tw_attention_rows r = params->rows;
  const int32_t heads = r.groups * r.repeat, k_row = r.groups * r.length, v_row = r.groups * r.width;
  for (int32_t b = 0; b < r.batch; b++) {
    for (int32_t t = 0; t < r.queries; t++) {
      const int32_t seen = tw_keys_seen(&r, t, position);
      const int32_t count = params->window > 0 ? tw_min(seen, params->window) : seen, first = b * r.keys + seen - count;
      for (int32_t h = 0; h < heads; h++) {
        const int32_t query = (b * r.queries + t) * heads + h, group = h / r.repeat;
        share(params, q + query * r.length, k + first * k_row + group * r.length, k_row, count, scratch);
        mix(scratch, v + first * v_row + group * r.width, v_row, count, r.width, y + query * r.width);
      }
    }
  }
}
