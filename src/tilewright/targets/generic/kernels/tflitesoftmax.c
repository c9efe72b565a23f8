/* Softmax of rows in fixed point, as TensorFlow Lite Micro has it: y = e / sum(e), where e = table[max(x) - x]. */
#include "tflitesoftmax.h"

#include "requant.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_tflitesoftmax_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

/* Fractional bits: of exponentials, and how many fewer of their sum. */
#define TW_SUM_BITS 12

/* 1 / total with 31 fractional bits; `zeros` are those that the total begins with. Half of what is to be inverted lies
 * between 1/2 and 1; three steps of Newton and Raphson with two integer bits. */
static int32_t reciprocal(uint32_t total, int32_t zeros) {
  const int32_t half = (int32_t)(((int64_t)(total << zeros) - ((int64_t)1 << 31) + INT32_MAX + 1) / 2);
  int32_t x = 1515870810 + tw_high_product(half, -1010580540);
  for (int32_t i = 0; i < 3; i++) x += tw_high_product(x, (1 << 29) - tw_high_product(half, x)) * 4;
  return x > INT32_MAX / 2 ? INT32_MAX : 2 * x;
}

static void softmax(const tw_tflitesoftmax_params *p, const TW_X *x, const int32_t *table, TW_Y *y) {
  int32_t largest = x[0], zeros = 0;
  uint32_t total = 0;
  for (int32_t i = 1; i < p->length; i++) largest = tw_max(largest, x[i]);
  for (int32_t i = 0; i < p->length; i++) total += (uint32_t)tw_divided(table[largest - x[i]], TW_SUM_BITS, 0);
  while (total << zeros < 1u << 31) zeros++;
  const int32_t share = reciprocal(total, zeros), bits = TW_SUM_BITS - zeros + p->bits;
  for (int32_t i = 0; i < p->length; i++) {
    const int32_t value = tw_divided(tw_high_product(table[largest - x[i]], share), bits, 0);
    y[i] = (TW_Y)tw_min(value + p->low, p->high);
  }
}

void TW_NAME(const tw_tflitesoftmax_params *params, const TW_X *x, const int32_t *table, TW_Y *y) {
  const tw_tflitesoftmax_params p = *params;
  if (p.length == 0) return;
  for (int32_t row = 0; row < p.rows; row++, x += p.length, y += p.length) softmax(&p, x, table, y);
}
