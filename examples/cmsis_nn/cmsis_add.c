/* Sums by arm_elementwise_add_s8; operands have the shape of the result. */
#include <arm_nnfunctions.h>

void TW_NAME(const tw_tfliteadd_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
  int32_t elements = 1;
  for (int32_t i = 0; i < p->loops.rank; i++) elements *= p->loops.size[i];
  arm_elementwise_add_s8(a, b, -p->first.zero, p->first.mul, p->first.exponent, -p->second.zero, p->second.mul,
                         p->second.exponent, p->left, y, p->requant.zero_point, p->mul, p->exponent, p->requant.low,
                         p->requant.high, elements);
}
