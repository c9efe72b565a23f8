/* Largest elements of windows by arm_max_pool_s8. */
#include <arm_nnfunctions.h>

void TW_NAME(const tw_cmsis_pool_params *p, const int8_t *x, int8_t *y) {
  const cmsis_nn_context context = {0, 0};
  const cmsis_nn_pool_params pool = {
      {p->stride_w, p->stride_h}, {p->pad_left, p->pad_top}, {p->low, p->high}};
  const cmsis_nn_dims in = {p->batch, p->in_h, p->in_w, p->channels};
  const cmsis_nn_dims window = {1, p->kernel_h, p->kernel_w, 1};
  const cmsis_nn_dims out = {p->batch, p->out_h, p->out_w, p->channels};
  arm_max_pool_s8(&context, &pool, &in, x, &window, &out, y);
}
