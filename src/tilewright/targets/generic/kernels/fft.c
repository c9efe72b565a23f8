/* y = the discrete Fourier transform of x, row by row; w holds the roots of unity */
#include "fft.h"

#ifndef TW_NAME
#define TW_NAME tw_fft
#endif

/* The points of a row in the order of their numbers with the bits turned round: stages then work in place. */
static void scatter_points(const tw_fft_params *params, const float *x, float *y) {
  const int32_t length = params->length, parts = params->parts;
  int32_t place = 0;
  for (int32_t i = 0; i < length; i++) {
    y[2 * place] = x[i * parts] * params->factor;
    y[2 * place + 1] = parts == 2 ? x[i * parts + 1] * params->factor : 0.0f;
    int32_t bit = length >> 1;
    while (place & bit) {
      place ^= bit;
      bit >>= 1;
    }
    place |= bit;
  }
}

/* Each pair `half` apart becomes its sum and its difference, the second one turned by a root before. */
static void join_pairs(float *y, const float *w, int32_t length, int32_t half) {
  const int32_t step = length / half;
  for (int32_t start = 0; start < length; start += 2 * half) {
    float *low = y + 2 * start, *high = low + 2 * half;
    for (int32_t j = 0; j < half; j++) {
      const float cosine = w[j * step], sine = w[j * step + 1];
      const float real = high[2 * j] * cosine - high[2 * j + 1] * sine;
      const float imaginary = high[2 * j] * sine + high[2 * j + 1] * cosine;
      high[2 * j] = low[2 * j] - real;
      high[2 * j + 1] = low[2 * j + 1] - imaginary;
      low[2 * j] += real;
      low[2 * j + 1] += imaginary;
    }
  }
}

void TW_NAME(const tw_fft_params *params, const float *x, const float *w, float *y) {
  const int32_t length = params->length;
  for (int32_t row = 0; row < params->rows; row++) {
    scatter_points(params, x, y);
    for (int32_t half = 1; half < length; half *= 2) join_pairs(y, w, length, half);
    x += length * params->parts;
    y += 2 * length;
  }
}
