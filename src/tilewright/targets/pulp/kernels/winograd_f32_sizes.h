/* Sizes of convolutions by transformed patches, the working memory that they need, and their work. */
#ifndef TW_WINOGRAD_F32_SIZES_H
#define TW_WINOGRAD_F32_SIZES_H

#include "conv.h"
#include "conv_gradient.h"
#include "tile_loops.h"
#include "units_of_work.h"

typedef struct {
  int32_t batch, out_h, out_w, channels, filters;
} tw_winograd_sizes;

/* Floats of transformed patches and of their products that are kept at once, at the most where four patches take less. */
#define TW_WINOGRAD_FLOATS 16384

static inline int32_t tw_whole_quads(int32_t count) { return (count + 3) & ~3; }
static inline int32_t tw_patches_across(const tw_winograd_sizes *n) { return (n->out_w + 1) >> 1; }
static inline int32_t tw_patches_down(const tw_winograd_sizes *n) { return (n->out_h + 1) >> 1; }
static inline int32_t tw_patches(const tw_winograd_sizes *n) { return n->batch * tw_patches_down(n) * tw_patches_across(n); }

static inline int32_t tw_patches_at_once(const tw_winograd_sizes *n) {
  const int32_t room = TW_WINOGRAD_FLOATS / (16 * tw_max(1, n->channels + tw_whole_quads(n->filters)));
  return tw_max(4, tw_min(tw_whole_quads(tw_patches(n)), room & ~3));
}

static inline int64_t tw_winograd_bytes(const tw_winograd_sizes *n) {
  const int64_t patches = (int64_t)tw_patches_at_once(n) * (n->channels + tw_whole_quads(n->filters));
  return 4 * (16 * ((int64_t)n->filters * n->channels + patches) + n->channels);
}

static inline tw_winograd_sizes tw_winograd_of_conv(const tw_conv_params *p) {
  const tw_winograd_sizes found = {p->batch, p->out_h, p->out_w, p->in_channels, p->out_channels};
  return found;
}

/* The gradient by the image is a convolution of the gradient of the result. */
static inline tw_winograd_sizes tw_winograd_of_gradient(const tw_conv_gradient_params *p) {
  const tw_winograd_sizes found = {p->batch, p->in_h, p->in_w, p->filters, p->channels};
  return found;
}

static inline int64_t tw_conv_winograd_scratch(const tw_conv_params *p) {
  const tw_winograd_sizes n = tw_winograd_of_conv(p);
  return tw_winograd_bytes(&n);
}

static inline int64_t tw_conv_input_grad_winograd_scratch(const tw_conv_gradient_params *p) {
  const tw_winograd_sizes n = tw_winograd_of_gradient(p);
  return tw_winograd_bytes(&n);
}

/* The call and its rounds; elements of filters, patches and results that are transformed; blocks, and their products. */
static inline int64_t tw_winograd_work(const tw_winograd_sizes *n, int32_t cores, double *units) {
  const int64_t at_once = tw_patches_at_once(n), patches = tw_patches(n), rounds = tw_up(patches, at_once);
  const int64_t blocks = rounds * tw_up(4 * at_once * tw_up(n->filters, 4), cores);
  TW_UNITS(1, rounds, tw_up((int64_t)n->filters * n->channels, cores), rounds * tw_up(at_once * n->channels, cores),
           rounds * tw_up(at_once * n->filters, cores), blocks, blocks * n->channels);
}

static inline int64_t tw_conv_winograd_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, double *units) {
  const tw_winograd_sizes n = {(int32_t)tile->n, (int32_t)tile->y, (int32_t)tile->x, (int32_t)tile->c, (int32_t)tile->f};
  (void)p;
  return tw_winograd_work(&n, cores, units);
}

static inline int64_t tw_conv_input_grad_winograd_work(const tw_conv_gradient_params *p, const tw_conv_loops *tile,
                                                       int32_t cores, double *units) {
  const tw_winograd_sizes n = {(int32_t)tile->n, (int32_t)tile->y, (int32_t)tile->x, (int32_t)tile->f, (int32_t)tile->c};
  (void)p;
  return tw_winograd_work(&n, cores, units);
}

#endif
