/* Rows of all operands side by side: a launch for each operand. */
#include "concat.h"
#include "gpu.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_concat
#define TW_X float
#define TW_Y float
#endif

/* An operand's rows of `length` go into rows of `pitch`, from `first` on. */
typedef struct {
  int32_t rows, length, pitch, first;
} part;

static inline tw_grid grid(const part *params) { return tw_items((int64_t)params->rows * params->length); }

TW_GPU void group(const part *params, const TW_X *x, TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < params->rows * params->length) {
      y[i / params->length * params->pitch + params->first + i % params->length] = x[i];
    }
  }
}

TW_GPU_PART(part, (const TW_X *x, TW_Y *y), (x, y))

#ifndef TW_GPU_CODE
void TW_NAME(const tw_concat_params *params, const TW_X *const *x, TW_Y *y) {
  part one = {params->rows, 0, 0, 0};
  for (int32_t i = 0; i < params->count; i++) one.pitch += params->length[i];
  for (int32_t i = 0; i < params->count; i++) {
    one.length = params->length[i];
    launch(&one, x[i], y);
    one.first += one.length;
  }
}
#endif
