/* y = x at the places that the grid holds, between elements too */
#include "grid_sample.h"

#include <math.h>

#ifndef TW_NAME
#define TW_NAME tw_grid_sample
#endif

#define TW_CUBIC -0.75f

/* The elements along one axis that a place is made of, and their weights. */
typedef struct {
  int32_t count;
  int32_t at[4];
  float weight[4];
} taps;

static float reflected(float place, float low, float high) {
  const float span = high - low;
  if (span <= 0.0f) return low;
  const float distance = fabsf(place - low), turns = floorf(distance / span), rest = distance - turns * span;
  return fmodf(turns, 2.0f) == 0.0f ? low + rest : high - rest;
}

/* A place that is not a number, or far outside, must not become an index. */
static float held(float place, float low, float high) { return place >= low ? (place <= high ? place : high) : low; }

static void add_tap(taps *to, const tw_grid_sample_params *params, float at, float weight, int32_t size) {
  const float low = params->align ? 0.0f : -0.5f, high = (float)size - 1.0f - low;
  if (params->padding == 0 && !(at >= 0.0f && at < (float)size)) weight = 0.0f;
  if (params->padding == 2) at = reflected(at, low, high);
  to->at[to->count] = (int32_t)held(at, 0.0f, (float)size - 1.0f);
  to->weight[to->count++] = weight;
}

static float near_cubic(float t) { return ((TW_CUBIC + 2.0f) * t - (TW_CUBIC + 3.0f)) * t * t + 1.0f; }

static float far_cubic(float t) {
  return ((TW_CUBIC * t - 5.0f * TW_CUBIC) * t + 8.0f * TW_CUBIC) * t - 4.0f * TW_CUBIC;
}

static taps taps_at(const tw_grid_sample_params *params, float where, int32_t size) {
  const float low = params->align ? 0.0f : -0.5f, high = (float)size - 1.0f - low;
  float place = params->align ? (where + 1.0f) / 2.0f * (float)(size - 1) : ((where + 1.0f) * (float)size - 1.0f) / 2.0f;
  taps found = {0};
  if (params->mode == 0) place = rintf(place);
  if (params->padding == 1 && params->mode != 2) place = held(place, 0.0f, (float)size - 1.0f);
  if (params->padding == 2) place = reflected(place, low, high);
  const float first = floorf(place), rest = place - first;
  if (params->mode == 0) {
    add_tap(&found, params, first, 1.0f, size);
  } else if (params->mode == 1) {
    add_tap(&found, params, first, 1.0f - rest, size);
    add_tap(&found, params, first + 1.0f, rest, size);
  } else {
    add_tap(&found, params, first - 1.0f, far_cubic(rest + 1.0f), size);
    add_tap(&found, params, first, near_cubic(rest), size);
    add_tap(&found, params, first + 1.0f, near_cubic(1.0f - rest), size);
    add_tap(&found, params, first + 2.0f, far_cubic(2.0f - rest), size);
  }
  return found;
}

static float sample(const float *x, const taps *axes, const int32_t *size) {
  float total = 0.0f;
  for (int32_t d = 0; d < axes[0].count; d++) {
    for (int32_t r = 0; r < axes[1].count; r++) {
      const float *row = x + (axes[0].at[d] * size[1] + axes[1].at[r]) * size[2];
      const float weight = axes[0].weight[d] * axes[1].weight[r];
      for (int32_t s = 0; s < axes[2].count; s++) total += weight * axes[2].weight[s] * row[axes[2].at[s]];
    }
  }
  return total;
}

void TW_NAME(const tw_grid_sample_params *params, const float *x, const float *grid, float *y) {
  const int32_t rank = params->rank, points = params->points, channels = params->channels, missing = 3 - rank;
  int32_t size[3] = {1, 1, 1};
  for (int32_t axis = 0; axis < rank; axis++) size[missing + axis] = params->size[axis];
  const int32_t plane = size[0] * size[1] * size[2];
  for (int32_t image = 0; image < params->batch; image++) {
    for (int32_t point = 0; point < points; point++) {
      taps axes[3] = {{1, {0}, {1.0f}}, {1, {0}, {1.0f}}, {1, {0}, {1.0f}}};
      for (int32_t axis = 0; axis < rank; axis++) {
        axes[missing + axis] = taps_at(params, grid[point * rank + rank - 1 - axis], size[missing + axis]);
      }
      for (int32_t c = 0; c < channels; c++) y[c * points + point] = sample(x + c * plane, axes, size);
    }
    x += channels * plane;
    y += channels * points;
    grid += points * rank;
  }
}
