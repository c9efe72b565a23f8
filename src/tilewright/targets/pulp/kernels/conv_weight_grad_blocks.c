/* The gradient of a convolution's filters, channels last; all cores together. Four filters meet four channels under one
 * tap, summed over the pixels of the result, as few runs of them as possible. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad_blocks
#endif

#include "blocks_f32.h"
#include "cluster.h"
#include "conv_weight_grad_sizes.h"

typedef struct {
  const tw_conv_gradient_params *p;
  const float *x, *g;
  float *y;
  int32_t channels, filters; /* of all groups */
} work;

/* Pixels of x and g in runs: where the first ones are, how far the next ones, and how many. */
typedef struct {
  const float *x, *g;
  int32_t x_step, g_step, count;
} run;

/* A run as often as `turns` says, so far further each time. In its own function, so that the code of a block stays small. */
static __attribute__((noinline)) void add_runs(run at, int32_t turns, int32_t x_jump, int32_t g_jump, int32_t channels,
                                               int32_t filters, float total[16]) {
  for (; turns > 0; turns--, at.x += x_jump, at.g += g_jump) {
    const float *a[4], *b[4];
    a[0] = at.g, b[0] = at.x;
    for (int i = 1; i < 4; i++) {
      a[i] = i < filters ? a[0] + i : a[i - 1];
      b[i] = i < channels ? b[0] + i : b[i - 1];
    }
    tw_block_f32(a, at.g_step, b, at.x_step, at.count, tw_in_place(total));
  }
}

static __attribute__((noinline)) void negate(float total[16]) {
  for (int i = 0; i < 16; i += 4) {
    const float t0 = -total[i], t1 = -total[i + 1], t2 = -total[i + 2], t3 = -total[i + 3];
    total[i] = t0, total[i + 1] = t1, total[i + 2] = t2, total[i + 3] = t3;
  }
}

/* Rows of an image and its result that are equally long, as one run: between two rows it also meets the pixels that the tap
 * sees outside the image, which the next or the last row has in their place. Those products are taken away before. */
static void add_rows_as_one(run row, int32_t width, int32_t height, int32_t channels, int32_t filters, float total[16]) {
  const int32_t outside = height > 1 ? width - row.count : 0;
  const run column = {row.x + row.count * row.x_step, row.g + row.count * row.g_step, width * row.x_step, width * row.g_step,
                height - 1};
  if (outside > 0) {
    negate(total);
    add_runs(column, outside, row.x_step, row.g_step, channels, filters, total);
    negate(total);
  }
  row.count += (height - 1) * width;
  add_runs(row, 1, 0, 0, channels, filters, total);
}

/* As tw_inside, without the divider for the usual strides: it takes as long as thirty products. */
static inline tw_range windows_inside(int32_t shift, int32_t step, int32_t size, int32_t count) {
  if (step > 2) return tw_inside(shift, step, size, count);
  tw_range range;
  range.first = tw_min(shift < 0 ? (step - 1 - shift) >> (step - 1) : 0, count);
  range.end = shift < size ? tw_max(range.first, tw_min(((size - 1 - shift) >> (step - 1)) + 1, count)) : range.first;
  return range;
}

/* All pixels under tap (r, s) of one image; whether there are any. */
static int add_image(const work *k, int32_t r, int32_t s, const float *x, int32_t channels, const float *g,
                      int32_t filters, tw_block_ends ends) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t down = r * p->dilation_h - p->pad_top, right = s * p->dilation_w - p->pad_left;
  const tw_range rows = windows_inside(down, p->stride_h, p->in_h, p->out_h);
  const tw_range inside = windows_inside(right, p->stride_w, p->in_w, p->out_w);
  const int32_t count = inside.end - inside.first, height = rows.end - rows.first;
  if (count <= 0 || height <= 0) return 0;
  const run row = {x + ((rows.first * p->stride_h + down) * p->in_w + inside.first * p->stride_w + right) * k->channels,
             g + (rows.first * p->out_w + inside.first) * k->filters, p->stride_w * k->channels, k->filters, count};
  /* Without strides and padding, all rows of both are one. */
  const int is_one_run = p->kernel_h * p->kernel_w == 1 && p->stride_h == 1 && p->stride_w == 1 && count == p->in_w &&
                         count == p->out_w;
  if (channels == 4 && filters == 4 && is_one_run) {
    tw_block_columns_f32(row.g, row.g_step, row.x, row.x_step, count * height, ends);
    return 1;
  }
  if (channels == 4 && filters == 4) {
    const tw_run of_g = {row.g, row.g_step, p->out_w * k->filters};
    const tw_run of_x = {row.x, row.x_step, p->stride_h * p->in_w * k->channels};
    tw_block_runs_f32(of_g, of_x, count, height, ends);
    return 1;
  }
  const int are_alike = p->in_w == p->out_w && p->stride_w == 1 && p->stride_h == 1;
  if (are_alike && 4 * (p->out_w - count) < height) {
    add_rows_as_one(row, p->out_w, height, channels, filters, ends.to);
    return 1;
  }
  add_runs(row, height, p->stride_h * p->in_w * k->channels, p->out_w * k->filters, channels, filters, ends.to);
  return 1;
}

/* Four filters from f and four channels from c on of a group, or as many as are left. */
static void block(const work *k, int32_t r, int32_t s, int32_t group, int32_t f, int32_t c) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t filters = tw_min(4, p->filters - f), channels = tw_min(4, p->channels - c);
  const int32_t pitch = p->kernel_h * p->kernel_w * p->channels;
  const float *x = k->x + group * p->channels + c, *g = k->g + group * p->filters + f;
  float *y = k->y + (group * p->filters + f) * pitch + (r * p->kernel_w + s) * p->channels + c;
  if (filters == 4 && channels == 4 && p->batch == 1) {
    const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    const tw_block_ends ends = {zeros, 0, y, pitch};
    if (add_image(k, r, s, x, 4, g, 4, ends)) return;
  }
  float total[16];
  for (int i = 0; i < 16; i++) total[i] = 0.0f;
  for (int32_t n = p->batch; n > 0; n--) {
    add_image(k, r, s, x, channels, g, filters, tw_in_place(total));
    x += p->in_h * p->in_w * k->channels;
    g += p->out_h * p->out_w * k->filters;
  }
  const float *from = total;
  for (int32_t i = filters; i > 0; i--, y += pitch, from += 4) {
    for (int32_t j = 0; j < channels; j++) y[j] = from[j];
  }
}

/* ---- few channels ---- */

/* Windows `first` to `end` - 1, behind each other; outside the image there are zeros. */
static void copy_windows(const work *k, int32_t first, int32_t end, float *to) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t length = p->kernel_h * p->kernel_w * p->channels, rest = tw_copied_window(p) - length;
  int32_t line = first / p->out_w, x = first - line * p->out_w, image = line / p->out_h, y = line - image * p->out_h;
  for (; first < end; first++) {
    for (int32_t r = 0; r < p->kernel_h; r++) {
      const int32_t in_y = y * p->stride_h + r * p->dilation_h - p->pad_top, is_inside = in_y >= 0 && in_y < p->in_h;
      const float *const row = k->x + (image * p->in_h + in_y) * p->in_w * p->channels;
      int32_t in_x = x * p->stride_w - p->pad_left;
      for (int32_t s = 0; s < p->kernel_w; s++, in_x += p->dilation_w) {
        const int has_pixel = is_inside && in_x >= 0 && in_x < p->in_w;
        for (int32_t c = 0; c < p->channels; c++) *to++ = has_pixel ? row[in_x * p->channels + c] : 0.0f;
      }
    }
    for (int32_t i = rest; i > 0; i--) *to++ = 0.0f;
    if (++x < p->out_w) continue;
    x = 0;
    if (++y < p->out_h) continue;
    y = 0, image++;
  }
}

/* What some windows add to all totals: blocks of four filters and four elements of a window. */
static __attribute__((noinline)) void add_windows(const work *k, const float *windows, int32_t first, int32_t count, float *totals) {
  const int32_t length = tw_copied_window(k->p), across = length >> 2, zero = first == 0;
  const tw_share share = tw_share_of(across * (k->filters >> 2));
  const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t f = i / across, column = i - f * across;
    float *const to = totals + 4 * f * length + 4 * column;
    const tw_block_ends ends = {zero ? zeros : to, zero ? 0 : length, to, length};
    tw_block_columns_f32(k->g + first * k->filters + 4 * f, k->filters, windows + 4 * column, length, count, ends);
  }
}

static void by_windows(const work *k, float *windows) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t pixels = p->batch * p->out_h * p->out_w, length = tw_copied_window(p), at_once = tw_windows_at_once(p);
  const int32_t taps = p->kernel_h * p->kernel_w * p->channels;
  float *const totals = windows + at_once * length;
  for (int32_t first = 0; first < pixels; first += at_once) {
    const int32_t count = tw_min(at_once, pixels - first);
    const tw_share own = tw_share_of(count);
    copy_windows(k, first + own.first, first + own.end, windows + own.first * length);
    tw_barrier();
    add_windows(k, windows, first, count, totals);
    tw_barrier();
  }
  const tw_share own = tw_share_of(p->filters);
  for (int32_t f = own.first; f < own.end; f++) {
    for (int32_t i = 0; i < taps; i++) k->y[f * taps + i] = totals[f * length + i];
  }
}

void TW_NAME(const tw_conv_gradient_params *params, const float *x, const float *g, float *y, void *scratch) {
  const tw_conv_gradient_params *const p = params;
  const work k = {p, x, g, y, p->groups * p->channels, p->groups * p->filters};
  if (tw_copies_windows(p)) {
    by_windows(&k, scratch);
    return;
  }
  const int32_t taps = p->kernel_h * p->kernel_w, across = (p->channels + 3) >> 2, down = (p->filters + 3) >> 2;
  const tw_share share = tw_share_of(p->groups * down * across * taps);
  if (share.first >= share.end) return;
  const int32_t pair = share.first / taps, tap = share.first - pair * taps, filter = pair / across;
  int32_t group = filter / down, f = filter - group * down, c = pair - filter * across;
  int32_t r = tap / p->kernel_w, s = tap - r * p->kernel_w;
  for (int32_t left = share.end - share.first; left > 0; left--) {
    block(&k, r, s, group, 4 * f, 4 * c);
    if (++s < p->kernel_w) continue;
    s = 0;
    if (++r < p->kernel_h) continue;
    r = 0;
    if (++c < across) continue;
    c = 0;
    if (++f < down) continue;
    f = 0;
    group++;
  }
}
