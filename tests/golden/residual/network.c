/* small, layer by layer. Generated: change the model and compile again instead. */
#include "network.h"

#include <stddef.h>

#include "kernels/kernels.h"
#include "network_data.h"

/* Called after every layer when TILEWRIGHT_PROBE names a function; costs nothing otherwise. */
#ifdef TILEWRIGHT_PROBE
void TILEWRIGHT_PROBE(int layer, int result, const void *data, unsigned long bytes);
#define LAYER_DONE(layer, result, data, bytes) TILEWRIGHT_PROBE(layer, result, data, bytes)
#else
#define LAYER_DONE(layer, result, data, bytes) ((void)0)
#endif

int residual_run(const float *image, float *scores, void *arena_memory) {
  unsigned char *const arena = arena_memory;
  if ((uintptr_t)arena % RESIDUAL_ARENA_ALIGNMENT != 0) return 1;

  /* 0: stem (Conv) f32[1x3x8x8] -> f32[1x4x8x8] */
  float *const c1 = (float *)(arena + 5984);
  {
    static const tw_conv_params params = {
        .in_channels = 3, .out_channels = 4, .batch = 1, .in_h = 8, .in_w = 8, .out_h = 8, .out_w = 8,
        .kernel_h = 3, .kernel_w = 3, .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1,
        .pad_top = 1, .pad_left = 1, .groups = 1, .x_zero = 0, .w_zero = 0, .bias_step = 1,
        .mul_step = 0, .add_step = 0, .requantised = 0, .chunk = 3};
    tw_conv_f32(&params, image, residual_w1, residual_b1, c1, arena + 0);
    LAYER_DONE(0, 0, c1, 1024ul);
  }

  /* 1: stem/relu (Relu) f32[1x4x8x8] -> f32[1x4x8x8] */
  float *const r1 = (float *)(arena + 5984); /* in the place of c1 */
  {
    static const tw_unary_params params = {.count = 256};
    tw_relu_f32(&params, c1, r1);
    LAYER_DONE(1, 0, r1, 1024ul);
  }

  /* 2: body (Conv) f32[1x4x8x8] -> f32[1x4x8x8] */
  float *const c2 = (float *)(arena + 7008);
  {
    static const tw_conv_params params = {
        .in_channels = 4, .out_channels = 4, .batch = 1, .in_h = 8, .in_w = 8, .out_h = 8, .out_w = 8,
        .kernel_h = 3, .kernel_w = 3, .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1,
        .pad_top = 1, .pad_left = 1, .groups = 1, .x_zero = 0, .w_zero = 0, .bias_step = 0,
        .mul_step = 0, .add_step = 0, .requantised = 0, .chunk = 4};
    tw_conv_f32(&params, r1, residual_w2, NULL, c2, arena + 0);
    LAYER_DONE(2, 0, c2, 1024ul);
  }

  /* 3: shortcut (Add) f32[1x4x8x8], f32[1x4x8x8] -> f32[1x4x8x8] */
  float *const sum = (float *)(arena + 7008); /* in the place of c2 */
  {
    static const tw_binary_params params = {.rank = 1, .size = {256}, .stride_a = {1}, .stride_b = {1}};
    tw_add_f32(&params, c2, r1, sum);
    LAYER_DONE(3, 0, sum, 1024ul);
  }

  /* 4: out/relu (Relu) f32[1x4x8x8] -> f32[1x4x8x8] */
  float *const r2 = (float *)(arena + 7008); /* in the place of sum */
  {
    static const tw_unary_params params = {.count = 256};
    tw_relu_f32(&params, sum, r2);
    LAYER_DONE(4, 0, r2, 1024ul);
  }

  /* 5: pool (GlobalAveragePool) f32[1x4x8x8] -> f32[1x4x1x1] */
  float *const pool = (float *)(arena + 0);
  {
    static const tw_global_pool_params params = {.planes = 4, .elements = 64};
    tw_globalaveragepool(&params, r2, pool);
    LAYER_DONE(5, 0, pool, 16ul);
  }

  /* 6: classifier (MatMul) f32[1x4] -> f32[1x5] */
  {
    static const tw_matmul_params params = {
        .rank = 0, .size = {0}, .stride_a = {0}, .stride_b = {0}, .stride_c = {0}, .rows = 1, .inner = 4,
        .columns = 5, .a_row = 0, .a_column = 1, .b_row = 1, .b_column = 4, .c_row = 0, .c_column = 1,
        .mul_row = 0, .mul_column = 0, .add_row = 0, .add_column = 0, .alpha = 1.0f, .beta = 1.0f,
        .a_zero = 0, .b_zero = 0, .requantised = 0};
    tw_matmul_dot_f32(&params, pool, residual_w3, residual_b3, scores);
    LAYER_DONE(6, 0, scores, 20ul);
  }
  return 0;
}
