/* y = softmax(scale * q k') v of floats, row by row over the keys that each query sees: the scores of one row are all
 * that is ever stored. */
#include "fusedattention.h"

#include "fast_exp.h"
#include "portable_dots.h"
#include "sums.h"

#ifndef TW_NAME
#define TW_NAME tw_fusedattention
#endif

static void score_row(const tw_fusedattention_params *p, const float *q, const float *k, int32_t seen, float *scores) {
  const int32_t length = p->rows.length, step = p->rows.groups * length;
  for (int32_t s = 0; s < seen; s++) scores[s] = p->scale * tw_dot(q, k + s * step, length);
}

/* Scores become exponentials; returns what their sum is divided by. */
static float share_row(int32_t seen, float *row) {
  const float largest = tw_largest(row, seen);
  for (int32_t s = 0; s < seen; s++) row[s] = tw_exp(row[s] - largest);
  return 1.0f / tw_sum(row, seen);
}

static void mix_row(const tw_fusedattention_params *p, const float *shares, const float *v, int32_t seen, float unit,
                    float *restrict y) {
  const int32_t width = p->rows.width, step = p->rows.groups * width;
  for (int32_t e = 0; e < width; e++) y[e] = 0.0f;
  for (int32_t s = 0; s < seen; s++) {
    const float *const row = v + s * step;
    const float share = shares[s] * unit;
    for (int32_t e = 0; e < width; e++) y[e] += share * row[e];
  }
}

void TW_NAME(const tw_fusedattention_params *params, const float *q, const float *k, const float *v,
             const int32_t *position, float *y, void *scratch) {
  const tw_attention_rows r = params->rows;
  const int32_t heads = r.groups * r.repeat;
  float *const row = scratch;
  for (int32_t b = 0; b < r.batch; b++) {
    for (int32_t t = 0; t < r.queries; t++) {
      const int32_t seen = tw_keys_seen(&r, t, position);
      for (int32_t h = 0; h < heads; h++) {
        const int32_t group = h / r.repeat;
        score_row(params, q, k + group * r.length, seen, row);
        mix_row(params, row, v + group * r.width, seen, share_row(seen, row), y);
        q += r.length;
        y += r.width;
      }
    }
    k += r.keys * r.groups * r.length;
    v += r.keys * r.groups * r.width;
  }
}
