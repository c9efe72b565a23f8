/* The mean of each window, with the channels last; all cores together. */
#include "alone.h"
#include "pool_count.h"

typedef float total_of;

static inline float start(void) { return 0.0f; }
static inline float with(float total, float x) { return total + x; }
static inline float result_of(float total) { return total; }

static inline float scale_of(const tw_pool_params *p, int32_t top, int32_t left) {
  const int32_t rows =
      tw_counted(p->count_pads, top + p->pad_top, p->dilation_h, p->kernel_h, p->pad_top, p->in_h, p->pad_bottom);
  const int32_t columns =
      tw_counted(p->count_pads, left + p->pad_left, p->dilation_w, p->kernel_w, p->pad_left, p->in_w, p->pad_right);
  return 1.0f / (float)tw_max(rows * columns, 1);
}

#include "pool_floats.h"
