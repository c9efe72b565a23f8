/* Sizes of convolutions by transformed patches (winograd_forms_f32.h), the working memory that they need, and their work. */
#ifndef TW_WINOGRAD_F32_SIZES_H
#define TW_WINOGRAD_F32_SIZES_H

#include "conv.h"
#include "conv_gradient.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* In one dimension: products; pixels of a patch; how far the next patch is; results. */
#define TW_POINTS_OF(form) ((form) == 1 ? 6 : 5)
#define TW_PIXELS_OF(form) ((form) == 1 ? 6 : 5)
#define TW_STEP_OF(form) ((form) == 3 ? 2 : 4)
#define TW_RESULTS_OF(form) ((form) == 2 ? 2 : 4)
/* Floats of four neighbours in all matrices, and one more, so that cores meet in few banks. */
#define TW_CELL_OF(form) (4 * TW_POINTS_OF(form) * TW_POINTS_OF(form) + 1)

typedef struct {
  int32_t batch, out_h, out_w, channels, filters, form;
  int32_t is_gradient; /* by filters */
} tw_winograd_sizes;

/* Floats that are kept at once, at the most where four patches or filters take less: of transformed filters, of patches and
 * their products, and of patches of an image and a gradient. */
#define TW_FILTER_FLOATS 20480
#define TW_PATCH_FLOATS 16384
#define TW_GRADIENT_FLOATS 24576

static inline int32_t tw_whole_quads(int32_t count) { return (count + 3) & ~3; }
static inline int32_t tw_patches_of_length(const tw_winograd_sizes *n, int32_t length) {
  return (length + TW_RESULTS_OF(n->form) - 1) / TW_RESULTS_OF(n->form);
}
static inline int32_t tw_patches_across(const tw_winograd_sizes *n) { return tw_patches_of_length(n, n->out_w); }
static inline int32_t tw_patches_down(const tw_winograd_sizes *n) { return tw_patches_of_length(n, n->out_h); }
static inline int32_t tw_lines_of_patches(const tw_winograd_sizes *n) { return n->batch * tw_patches_down(n); }

/* Quads of all patches. */
static inline int32_t tw_all_quads(const tw_winograd_sizes *n) {
  return tw_whole_quads(tw_lines_of_patches(n) * tw_patches_across(n)) >> 2;
}

/* Quads of filters that there is room for beside all patches and their products; 0 if there is none. */
static inline int32_t tw_filter_quads_beside_all(const tw_winograd_sizes *n) {
  const int32_t cells = (TW_FILTER_FLOATS + TW_PATCH_FLOATS) / TW_CELL_OF(n->form), patches = tw_all_quads(n);
  const int32_t channels = tw_max(1, n->channels);
  return patches > cells / channels ? 0 : (cells - patches * channels) / (channels + 4 * patches);
}

/* Quads of filters that are transformed at once: all of them, or as many as there is room for beside all patches, so that
 * none is transformed twice; or else those that there is room for. */
static inline int32_t tw_filter_quads_at_once(const tw_winograd_sizes *n) {
  const int32_t quads = tw_whole_quads(n->filters) >> 2, room = TW_FILTER_FLOATS / (TW_CELL_OF(n->form) * tw_max(1, n->channels));
  if (quads <= room) return quads;
  const int32_t beside_all = tw_filter_quads_beside_all(n);
  return tw_max(1, beside_all == 0 ? room : tw_min(room, beside_all));
}

/* Patches that are kept at once: whole lines of them, or a part of one line. */
typedef struct {
  int32_t lines, columns;
} tw_patch_grid;

/* As many as there is room for with so many floats each. */
static inline tw_patch_grid tw_patches_in(const tw_winograd_sizes *n, int32_t room) {
  const int32_t across = tw_patches_across(n);
  const tw_patch_grid lines = {tw_max(1, tw_min(tw_lines_of_patches(n), room / tw_max(1, across))), across};
  const tw_patch_grid part = {1, tw_max(4, room & ~3)};
  return across <= part.columns ? lines : part;
}

static inline tw_patch_grid tw_patches_at_once(const tw_winograd_sizes *n) {
  const int32_t matrices = TW_POINTS_OF(n->form) * TW_POINTS_OF(n->form);
  if (n->is_gradient) return tw_patches_in(n, TW_GRADIENT_FLOATS / (matrices * tw_max(1, n->channels + n->filters)));
  const int32_t filters = tw_filter_quads_at_once(n);
  const int is_beside_all = 4 * filters < n->filters && filters <= tw_filter_quads_beside_all(n);
  return tw_patches_in(n, is_beside_all ? 4 * tw_all_quads(n) : TW_PATCH_FLOATS / (matrices * tw_max(1, n->channels + 4 * filters)));
}

static inline int32_t tw_quads_at_once(const tw_winograd_sizes *n) {
  const tw_patch_grid grid = tw_patches_at_once(n);
  return (grid.lines * grid.columns + 3) >> 2;
}

/* Columns of a line of patches of two channels, transformed one way; cores begin in different banks. */
static inline int32_t tw_line_floats(const tw_winograd_sizes *n) {
  const int32_t columns = (tw_patches_at_once(n).columns - 1) * TW_STEP_OF(n->form) + TW_PIXELS_OF(n->form);
  const int32_t floats = 2 * columns * TW_POINTS_OF(n->form);
  return floats + ((16 - floats) & 15) + 2;
}

/* Products, and in their place, before there are any, lines of all cores. */
static inline int32_t tw_product_floats(const tw_winograd_sizes *n, int32_t cores) {
  const int32_t products = TW_CELL_OF(n->form) * 4 * tw_quads_at_once(n) * tw_filter_quads_at_once(n);
  const int32_t lines = cores * tw_line_floats(n);
  return products > lines ? products : lines;
}

/* Filters and patches; products; two zeros. */
static inline int64_t tw_winograd_bytes(const tw_winograd_sizes *n, int32_t cores) {
  const int64_t cells = tw_filter_quads_at_once(n) + tw_quads_at_once(n);
  return 4 * (TW_CELL_OF(n->form) * cells * n->channels + tw_product_floats(n, cores) + 2);
}

/* ---- sizes of calls: products go in pairs of channels, and of gradients by filters in quads ---- */

static inline int32_t tw_whole_pairs(int32_t count) { return (count + 1) & ~1; }

static inline tw_winograd_sizes tw_winograd_of_conv(const tw_conv_params *p) {
  const tw_winograd_sizes found = {p->batch, p->out_h, p->out_w, tw_whole_pairs(p->in_channels), p->out_channels,
                                   p->stride_h == 1 ? 1 : 2, 0};
  return found;
}

/* The gradient by the image is a convolution of the gradient of the result. */
static inline tw_winograd_sizes tw_winograd_of_gradient(const tw_conv_gradient_params *p) {
  const tw_winograd_sizes found = {p->batch, p->in_h, p->in_w, tw_whole_pairs(p->filters), p->channels,
                                   p->stride_h == 1 ? 1 : 3, 0};
  return found;
}

/* The gradient by the filters has the patches of the convolution. */
static inline tw_winograd_sizes tw_winograd_of_filters(const tw_conv_gradient_params *p) {
  const tw_winograd_sizes found = {p->batch, p->out_h, p->out_w, tw_whole_quads(p->channels), p->filters, 1, 1};
  return found;
}

static inline int64_t tw_conv_winograd_scratch(const tw_conv_params *p, int32_t cores) {
  const tw_winograd_sizes n = tw_winograd_of_conv(p);
  return tw_winograd_bytes(&n, cores);
}

static inline int64_t tw_conv_input_grad_winograd_scratch(const tw_conv_gradient_params *p, int32_t cores) {
  const tw_winograd_sizes n = tw_winograd_of_gradient(p);
  return tw_winograd_bytes(&n, cores);
}

/* Patches of the image and, in the place of all cores' lines, of g; four rows of products of each core; two zeros. */
static inline int32_t tw_gradient_floats(const tw_winograd_sizes *n, int32_t cores) {
  const int32_t gradients = TW_CELL_OF(n->form) * 4 * tw_quads_at_once(n) * (n->filters >> 2), lines = cores * tw_line_floats(n);
  return gradients > lines ? gradients : lines;
}

static inline int64_t tw_conv_weight_grad_winograd_scratch(const tw_conv_gradient_params *p, int32_t cores) {
  const tw_winograd_sizes n = tw_winograd_of_filters(p);
  const int64_t columns = n.channels >> 2;
  return 4 * (TW_CELL_OF(n.form) * (4 * tw_quads_at_once(&n) * columns + 4 * cores) + tw_gradient_floats(&n, cores) + 2);
}

/* ---- work ---- */

/* Rounds of patches that are kept at once. */
static inline int64_t tw_winograd_rounds(const tw_winograd_sizes *n) {
  const tw_patch_grid grid = tw_patches_at_once(n);
  return tw_up(tw_lines_of_patches(n), grid.lines) * tw_up(tw_patches_across(n), grid.columns);
}

/* The call, its rounds, and these for each part of the filters; elements of filters that are transformed, of patches, and of
 * results; products of blocks. */
static inline int64_t tw_winograd_work(const tw_winograd_sizes *n, int32_t cores, double *units) {
  const tw_patch_grid grid = tw_patches_at_once(n);
  const int64_t quads = tw_quads_at_once(n), rounds = tw_winograd_rounds(n);
  const int64_t matrices = TW_POINTS_OF(n->form) * TW_POINTS_OF(n->form);
  const int64_t filters = tw_up(n->filters, 4), at_once = tw_filter_quads_at_once(n), parts = tw_up(filters, at_once);
  const int64_t blocks = rounds * parts * tw_up(matrices * quads * tw_least(filters, at_once), cores);
  const int64_t transformed = tw_up(4 * tw_least(filters, at_once) * n->channels, cores) * parts * (parts > 1 ? rounds : 1);
  const int64_t patches = rounds * tw_up(grid.lines * n->channels, cores) * grid.columns;
  const int64_t results = rounds * tw_up(4 * quads * n->filters, cores);
  TW_UNITS(1, rounds, rounds * parts, transformed, patches, results, blocks, blocks * n->channels);
}

static inline int64_t tw_conv_winograd_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, double *units) {
  const tw_winograd_sizes n = {(int32_t)tile->n, (int32_t)tile->y, (int32_t)tile->x, tw_whole_pairs((int32_t)tile->c),
                               (int32_t)tile->f, p->stride_h == 1 ? 1 : 2, 0};
  return tw_winograd_work(&n, cores, units);
}

static inline int64_t tw_conv_input_grad_winograd_work(const tw_conv_gradient_params *p, const tw_conv_loops *tile,
                                                       int32_t cores, double *units) {
  const tw_winograd_sizes n = {(int32_t)tile->n, (int32_t)tile->y, (int32_t)tile->x, tw_whole_pairs((int32_t)tile->f),
                               (int32_t)tile->c, p->stride_h == 1 ? 1 : 3, 0};
  return tw_winograd_work(&n, cores, units);
}

/* The call and its rounds; patches of the image and of g; blocks of four filters and channels, and their products. */
static inline int64_t tw_conv_weight_grad_winograd_work(const tw_conv_gradient_params *p, const tw_conv_loops *tile,
                                                        int32_t cores, double *units) {
  const tw_winograd_sizes n = {(int32_t)tile->n, (int32_t)tile->y, (int32_t)tile->x, tw_whole_quads((int32_t)tile->c),
                               (int32_t)tile->f, 1, 1};
  (void)p;
  const tw_patch_grid grid = tw_patches_at_once(&n);
  const int64_t patches = grid.lines * grid.columns, rounds = tw_winograd_rounds(&n);
  const int64_t blocks = rounds * tw_up(tw_up(n.filters, 4) * tw_up(n.channels, 4), cores);
  const int64_t of_image = rounds * tw_up(grid.lines * n.channels, cores) * grid.columns;
  TW_UNITS(1, rounds, of_image, rounds * tw_up(patches * n.filters, cores), blocks, blocks * patches);
}

#endif
