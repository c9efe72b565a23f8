/* Convolution as a product: filters times windows, which are gathered from the image as they are needed. */
#ifndef TW_NAME
#define TW_NAME tw_gpu_conv
#define TW_X float
#define TW_W float
#define TW_B float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "conv.h"
#include "gpu_conv_finish.h"
#include "gpu_stored.h"
#include "gpu_totals.h"

typedef tw_conv_params tw_params;
typedef struct {
  const TW_X *x;
  const TW_W *w;
  const TW_B *b;
  const int32_t *mul, *add;
  TW_Y *y;
} tw_pointers;

static inline int32_t rows_of(const tw_params *p) { return p->out_channels; }
static inline int32_t inner_of(const tw_params *p) { return p->in_channels * p->kernel_h * p->kernel_w; }
static inline int32_t columns_of(const tw_params *p) { return p->out_h * p->out_w; }
static inline int32_t batch_of(const tw_params *p) { return p->batch * p->groups; }
static inline int left_along_k(const tw_params *p) {
  (void)p;
  return 1;
}
static inline int right_along_k(const tw_params *p) {
  (void)p;
  return 0;
}

static inline total_t left(const tw_params *p, const tw_pointers *at, int32_t batch, int32_t row, int32_t k) {
  const int32_t filter = batch % p->groups * p->out_channels + row;
  return TW_CENTRED(TW_W_LOAD(at->w[filter * inner_of(p) + k]), p->w_zero);
}

/* Padding counts as zero. */
static inline total_t right(const tw_params *p, const tw_pointers *at, int32_t batch, int32_t k, int32_t column) {
  const int32_t channel = k / (p->kernel_h * p->kernel_w), tap = k % (p->kernel_h * p->kernel_w);
  const int32_t in_y = column / p->out_w * p->stride_h + tap / p->kernel_w * p->dilation_h - p->pad_top;
  const int32_t in_x = column % p->out_w * p->stride_w + tap % p->kernel_w * p->dilation_w - p->pad_left;
  if (in_y < 0 || in_y >= p->in_h || in_x < 0 || in_x >= p->in_w) return 0;
  return TW_CENTRED(TW_X_LOAD(at->x[((batch * p->in_channels + channel) * p->in_h + in_y) * p->in_w + in_x]), p->x_zero);
}

static inline void store(const tw_params *p, const tw_pointers *at, int32_t batch, int32_t row, int32_t column,
                         total_t total) {
  const int32_t filter = batch % p->groups * p->out_channels + row;
  at->y[(batch * p->out_channels + row) * columns_of(p) + column] = finished(p, at->b, at->mul, at->add, filter, total);
}

#include "gpu_product.h"

static inline tw_grid grid(const tw_params *params) { return tw_product_grid(params); }

TW_GPU void group(const tw_params *params, const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul,
                  const int32_t *add, TW_Y *y) {
  const tw_pointers at = {x, w, b, mul, add, y};
  tw_product(params, &at);
}

TW_GPU_KERNEL(tw_conv_params,
              (const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul, const int32_t *add, TW_Y *y),
              (x, w, b, mul, add, y))
