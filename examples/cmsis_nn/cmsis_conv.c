/* A convolution by arm_convolve_wrapper_s8, or, with groups, by arm_convolve_s8. */
#include <arm_nnfunctions.h>

void TW_NAME(const tw_conv_params *p, const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, int8_t *y, void *scratch) {
  const int32_t filters = p->groups * p->out_channels;
  const cmsis_nn_context context = {scratch, 0};
  const cmsis_nn_conv_params conv = {
      -p->x_zero,
      p->requant.zero_point,
      {p->stride_w, p->stride_h},
      {p->pad_left, p->pad_top},
      {p->dilation_w, p->dilation_h},
      {p->requant.low, p->requant.high}};
  const cmsis_nn_per_channel_quant_params scales = {(int32_t *)mul, (int32_t *)add};
  const cmsis_nn_dims in = {p->batch, p->in_h, p->in_w, p->groups * p->in_channels};
  const cmsis_nn_dims window = {filters, p->kernel_h, p->kernel_w, p->in_channels};
  const cmsis_nn_dims bias = {1, 1, 1, filters};
  const cmsis_nn_dims out = {p->batch, p->out_h, p->out_w, filters};
  if (p->groups > 1) {
    arm_convolve_s8(&context, &conv, &scales, &in, x, &window, w, &bias, b, 0, &out, y);
  } else {
    arm_convolve_wrapper_s8(&context, &conv, &scales, &in, x, &window, w, &bias, b, &out, y);
  }
}
