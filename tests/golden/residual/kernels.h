/* The kernels of this network. They are part of Tilewright. SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_H
#define TILEWRIGHT_KERNELS_H

#include <stdint.h>

#include "prefix.h"
#include "binary.h"
#include "conv.h"
#include "global_pool.h"
#include "matmul.h"
#include "unary.h"

void tw_conv_f32(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y, void *scratch);
void tw_add_f32(const tw_binary_params *params, const float *a, const float *b, float *y);
void tw_relu_f32(const tw_unary_params *params, const float *x, float *y);
void tw_globalaveragepool(const tw_global_pool_params *params, const float *x, float *y);
void tw_matmul_dot_f32(const tw_matmul_params *params, const float *a, const float *b, const float *c, float *y);

#endif
