/* y = probabilities of all classes, of those that the first of each pair of classes is the right one: Wu, Lin and Weng's
 * second method. P minimises P' Q P with Q[s, t] = -r[t, s] r[s, t], Q[t, t] = the sum of r[s, t]^2 over s, where r[s, t]
 * is the probability of s against t: each step moves one of P and divides all by their new sum. */
#include "paired_probabilities.h"

#include "paired_probabilities_sizes.h"

#ifndef TW_NAME
#define TW_NAME tw_paired_probabilities
#endif

static void fill(const float *pairs, float *q, int32_t k) {
  for (int32_t t = 0; t < k * k; t++) q[t] = 0.0f;
  for (int32_t s = 0; s < k; s++) {
    for (int32_t t = s + 1; t < k; t++) {
      float r = *pairs++;
      if (r < 1e-7f) r = 1e-7f;
      if (r > (float)(1 - 1e-7)) r = (float)(1 - 1e-7);
      const float other = 1.0f - r;
      q[s * k + t] = q[t * k + s] = -other * r;
      q[t * k + t] += r * r;
      q[s * k + s] += other * other;
    }
  }
}

/* qp = Q p; gives p' Q p */
static float multiply(const float *q, const float *p, float *qp, int32_t k) {
  float total = 0.0f;
  for (int32_t s = 0; s < k; s++) {
    float sum = 0.0f;
    for (int32_t t = 0; t < k; t++) sum += q[s * k + t] * p[t];
    qp[s] = sum;
    total += p[s] * sum;
  }
  return total;
}

static int has_converged(const float *qp, float pqp, int32_t k) {
  for (int32_t t = 0; t < k; t++) {
    const float error = qp[t] > pqp ? qp[t] - pqp : pqp - qp[t];
    if (!(error < (float)(0.005 / k))) return 0;
  }
  return 1;
}

void TW_NAME(const tw_paired_probabilities_params *params, const float *x, float *y, void *scratch) {
  const int32_t k = params->classes, most = k > 100 ? k : 100;
  float *q = scratch, *qp = q + k * k;
  for (int32_t sample = 0; sample < params->samples; sample++, x += k * (k - 1) / 2, y += k) {
    fill(x, q, k);
    for (int32_t t = 0; t < k; t++) y[t] = 1.0f / (float)k;
    for (int32_t round = 0; round < most; round++) {
      float pqp = multiply(q, y, qp, k);
      if (has_converged(qp, pqp, k)) break;
      for (int32_t t = 0; t < k; t++) {
        const float diagonal = q[t * k + t], step = (pqp - qp[t]) / diagonal, sum = 1.0f + step;
        y[t] += step;
        pqp = (pqp + step * (step * diagonal + 2.0f * qp[t])) / sum / sum;
        for (int32_t s = 0; s < k; s++) {
          qp[s] = (qp[s] + step * q[t * k + s]) / sum;
          y[s] /= sum;
        }
      }
    }
  }
}
