/* y = requant(sum(x - x_zero) * mul / count) over the elements of each window that are inside x: an item for each */
#include "gpu.h"
#include "qlinear_mean.h"
#include "qlinearaveragepool.h"
#include "window.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_qlinearaveragepool
#define TW_X int8_t
#define TW_Y int8_t
#endif

static inline int32_t results(const tw_qlinearaveragepool_params *p) {
  return p->batch * p->channels * p->out_h * p->out_w;
}

static inline tw_grid grid(const tw_qlinearaveragepool_params *params) { return tw_items(results(params)); }

TW_GPU TW_Y mean_of(const tw_qlinearaveragepool_params *p, const TW_X *plane, int32_t out_y, int32_t out_x) {
  const int32_t top = out_y * p->stride_h - p->pad_top, left = out_x * p->stride_w - p->pad_left;
  const tw_range rows = tw_inside(top, p->dilation_h, p->in_h, p->kernel_h);
  const tw_range columns = tw_inside(left, p->dilation_w, p->in_w, p->kernel_w);
  const int32_t count = (rows.end - rows.first) * (columns.end - columns.first);
  int32_t total = -count * p->x_zero;
  for (int32_t r = rows.first; r < rows.end; r++) {
    for (int32_t s = columns.first; s < columns.end; s++) {
      total += plane[(top + r * p->dilation_h) * p->in_w + left + s * p->dilation_w];
    }
  }
  return (TW_Y)tw_mean(&p->requant, total, count, p->mul);
}

TW_GPU void group(const tw_qlinearaveragepool_params *params, const TW_X *x, TW_Y *y) {
  const int32_t pixels = params->out_h * params->out_w;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) {
      const TW_X *const plane = x + i / pixels * params->in_h * params->in_w;
      y[i] = mean_of(params, plane, i % pixels / params->out_w, i % params->out_w);
    }
  }
}

TW_GPU_KERNEL(tw_qlinearaveragepool_params, (const TW_X *x, TW_Y *y), (x, y))
