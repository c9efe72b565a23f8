/* y = x at the places that the grid holds, between four pixels; beside the image are zeros. */
#include <math.h>

#include "grid_sample.h"

#ifndef TW_NAME
#define TW_NAME tw_grid_sample_bilinear
#endif

/* Two neighbours along an axis: where they are, and their weights, which are 0 beside the image. */
typedef struct {
  int32_t at[2];
  float weight[2];
} neighbours;

/* `scale` and `shift` of a position between -1 and 1 are its place. A place that is not a number has no neighbours. */
static inline neighbours neighbours_at(float where, float scale, float shift, int32_t size) {
  const float place = where * scale + shift, last = (float)size - 1.0f;
  const int is_near = place > -1.0f && place < last + 1.0f;
  const float first = floorf(is_near ? place : 0.0f), rest = place - first;
  const int32_t at = (int32_t)first;
  const neighbours found = {
      {at < 0 ? 0 : at, at + 1 < size ? at + 1 : size - 1},
      {is_near && at >= 0 ? 1.0f - rest : 0.0f, is_near && at + 1 < size ? rest : 0.0f},
  };
  return found;
}

void TW_NAME(const tw_grid_sample_params *params, const float *x, const float *grid, float *y) {
  const int32_t points = params->points, height = params->size[0], width = params->size[1], plane = height * width;
  const int32_t less = params->align ? 1 : 0;
  const float down = (float)(height - less) / 2.0f, across = (float)(width - less) / 2.0f;
  const float top = down - (params->align ? 0.0f : 0.5f), left = across - (params->align ? 0.0f : 0.5f);
  for (int32_t image = 0; image < params->batch; image++, grid += 2 * points) {
    for (int32_t point = 0; point < points; point++) {
      const neighbours h = neighbours_at(grid[2 * point], across, left, width);
      const neighbours v = neighbours_at(grid[2 * point + 1], down, top, height);
      const float *const first = x + v.at[0] * width, *const second = x + v.at[1] * width;
      for (int32_t c = 0; c < params->channels; c++) {
        const float above = h.weight[0] * first[c * plane + h.at[0]] + h.weight[1] * first[c * plane + h.at[1]];
        const float below = h.weight[0] * second[c * plane + h.at[0]] + h.weight[1] * second[c * plane + h.at[1]];
        y[c * points + point] = v.weight[0] * above + v.weight[1] * below;
      }
    }
    x += params->channels * plane;
    y += params->channels * points;
  }
}
