/* Rows times columns by arm_fully_connected_wrapper_s8. */
#include <arm_nnfunctions.h>

void TW_NAME(const tw_matmul_params *p, const int8_t *a, const int8_t *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, int8_t *y) {
  const cmsis_nn_context context = {0, 0};
  const cmsis_nn_fc_params product = {-p->a_zero, 0, p->requant.zero_point, {p->requant.low, p->requant.high}};
  const cmsis_nn_quant_params scales = {(int32_t *)mul, (int32_t *)add, p->mul_column != 0};
  const cmsis_nn_dims in = {p->rows, 1, 1, p->inner};
  const cmsis_nn_dims weights = {p->inner, 1, 1, p->columns};
  const cmsis_nn_dims bias = {1, 1, 1, p->columns};
  const cmsis_nn_dims out = {p->rows, 1, 1, p->columns};
  arm_fully_connected_wrapper_s8(&context, &product, &scales, &in, a, &weights, b, &bias, c, &out, y);
}
