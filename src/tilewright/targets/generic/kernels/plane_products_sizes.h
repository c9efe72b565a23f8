/* Convolutions whose filters are computed, and gradients of convolutions, as products with planes: images are copied with
 * their padding, so that what a tap sees of neighbouring pixels are neighbours, from row to row as well. Where windows
 * skip pixels, every `stride`-th pixel is in a plane of its own. */
#ifndef TW_PLANE_PRODUCTS_SIZES_H
#define TW_PLANE_PRODUCTS_SIZES_H

#include "conv.h"
#include "conv_gradient.h"

#define TW_PLANE_PANEL 32  /* columns of a panel at the most */
#define TW_PLANE_LINE 16   /* elements that planes are whole lines of */
#define TW_GRADIENT_STEP 256 /* pixels of a gradient that are summed over at a time */

typedef struct {
  int32_t rows, pitch; /* of a plane */
  int64_t plane;       /* elements from channel to channel: an odd number of lines, which share no set of a cache */
  int32_t phases;      /* planes of a channel */
} tw_planes;

static inline int64_t tw_plane_elements(int32_t rows, int32_t pitch) {
  const int64_t lines = ((int64_t)rows * pitch + 2 * TW_PLANE_PANEL + TW_PLANE_LINE - 1) / TW_PLANE_LINE;
  return (lines | 1) * TW_PLANE_LINE;
}

/* Of an image, for windows on it. */
static inline tw_planes tw_image_planes(int32_t out_h, int32_t out_w, int32_t kernel_h, int32_t kernel_w,
                                        int32_t stride_h, int32_t stride_w, int32_t dilation_h, int32_t dilation_w) {
  tw_planes planes;
  planes.rows = out_h + (kernel_h - 1) * dilation_h / stride_h;
  planes.pitch = out_w + (kernel_w - 1) * dilation_w / stride_w;
  planes.plane = tw_plane_elements(planes.rows, planes.pitch);
  planes.phases = stride_h * stride_w;
  return planes;
}

static inline tw_planes tw_conv_planes(const tw_conv_params *p) {
  return tw_image_planes(p->out_h, p->out_w, p->kernel_h, p->kernel_w, p->stride_h, p->stride_w, p->dilation_h,
                         p->dilation_w);
}

static inline tw_planes tw_gradient_planes(const tw_conv_gradient_params *p) {
  return tw_image_planes(p->out_h, p->out_w, p->kernel_h, p->kernel_w, p->stride_h, p->stride_w, p->dilation_h,
                         p->dilation_w);
}

/* Windows above the first one, and left of it, that reach the image's first pixels: they are zeros. */
static inline int32_t tw_windows_before(int32_t pad, int32_t taps, int32_t stride, int32_t dilation) {
  return tw_max(0, ((taps - 1) * dilation - pad + stride - 1) / stride);
}

/* Windows that the last pixels of an image of `size` are in, of all phases, and those before. */
static inline int32_t tw_windows_reached(int32_t size, int32_t pad, int32_t taps, int32_t stride, int32_t dilation) {
  const int32_t pixels = (size + stride - 1) / stride;
  return tw_windows_before(pad, taps, stride, dilation) + pixels + (stride - 1 + pad) / stride;
}

/* Of a result's gradient, for the pixels of the image. */
static inline tw_planes tw_window_planes(const tw_conv_gradient_params *p) {
  tw_planes planes;
  planes.rows = tw_windows_reached(p->in_h, p->pad_top, p->kernel_h, p->stride_h, p->dilation_h);
  planes.pitch = tw_windows_reached(p->in_w, p->pad_left, p->kernel_w, p->stride_w, p->dilation_w);
  planes.plane = tw_plane_elements(planes.rows, planes.pitch);
  planes.phases = 1;
  return planes;
}

/* Places of taps, planes of an image, filters in the order of taps, and results with the pitch of planes. */
static inline int64_t tw_conv_computed_scratch(const tw_conv_params *p) {
  const tw_planes planes = tw_conv_planes(p);
  const int64_t taps = (int64_t)p->kernel_h * p->kernel_w;
  return 4 * (2 * taps + p->in_channels * planes.phases * planes.plane + taps * p->in_channels * p->out_channels +
              p->out_channels * planes.plane);
}

static inline int64_t tw_conv_input_grad_planes_scratch(const tw_conv_gradient_params *p) {
  const tw_planes planes = tw_window_planes(p);
  const int64_t taps = (int64_t)p->kernel_h * p->kernel_w;
  return 4 * (2 * taps + p->filters * planes.plane + taps * p->channels * p->filters + p->channels * planes.plane);
}

/* Where rows begin, planes of an image, panels of its gradient, sums. */
static inline int64_t tw_conv_weight_grad_planes_scratch(const tw_conv_gradient_params *p) {
  const tw_planes planes = tw_gradient_planes(p);
  const int64_t rows = (int64_t)p->channels * p->kernel_h * p->kernel_w;
  const int64_t columns = (p->filters + TW_PLANE_PANEL - 1) / TW_PLANE_PANEL * TW_PLANE_PANEL;
  return 8 * rows + 4 * (p->channels * planes.phases * planes.plane + columns * p->out_h * planes.pitch +
                         columns * rows);
}

#endif
