/* Patches of an image, transformed for convolutions with three by three taps (winograd_forms_f32.h). Of each there is a
 * number for each matrix. Four neighbours in one matrix lie beside each other, then those of the next matrix: a cell.
 * Channels last; all cores together. */
#ifndef TW_WINOGRAD_PATCHES_F32_H
#define TW_WINOGRAD_PATCHES_F32_H

#include "cluster.h"
#include "winograd_forms_f32.h"

typedef struct {
  const float *x, *zero;
  int32_t in_h, in_w, pad_top, pad_left, channels;
  int32_t odd_top, odd_left; /* of form 3: whether the first pixel is one that the middle tap reaches */
  float *line;               /* this core's */
} tw_image;

/* Some patches: lines of all images, and columns of each line. */
typedef struct {
  int32_t line, lines, column, columns, down; /* down: lines of one image */
} tw_round;

/* The patches from a line and a column on, as many as there is room for: `grid`. */
static inline tw_round tw_round_at(const tw_winograd_sizes *n, tw_patch_grid grid, int32_t line, int32_t column) {
  const tw_round found = {line, tw_min(grid.lines, tw_lines_of_patches(n) - line), column,
                          tw_min(grid.columns, tw_patches_across(n) - column), tw_patches_down(n)};
  return found;
}

static inline int32_t tw_patches_of(const tw_round *round) { return round->lines * round->columns; }

/* A patch by its image, and its number down and across. */
typedef struct {
  int32_t image, y, x;
} tw_place;

static inline tw_place tw_place_of(const tw_round *round, int32_t patch) {
  const int32_t down = patch / round->columns, line = round->line + down, image = line / round->down;
  const tw_place found = {image, line - image * round->down, round->column + patch - down * round->columns};
  return found;
}

/* How far the next patch's cell is: inside four patches, and from the last of them on. */
typedef struct {
  int32_t step, jump;
} tw_places;

/* Where pixels of one channel of some rows are; outside the image there are zeros. */
typedef struct {
  const float *row[TW_PIXELS];
  int32_t step[TW_PIXELS];
} tw_rows;

/* The rows of a patch that begins at row y; of form 3, the last two are those that the middle tap meets. */
static inline tw_rows tw_rows_of(const tw_image *k, int32_t image, int32_t y, int32_t x, int32_t channel) {
  tw_rows found;
  for (int r = 0; r < TW_PIXELS; r++) {
    const int32_t at = y + (TW_FORM == 3 && r > 2 ? r - 2 - k->odd_top : r), is_inside = at >= 0 && at < k->in_h;
    found.row[r] = is_inside ? k->x + ((image * k->in_h + at) * k->in_w + x) * k->channels + channel : k->zero;
    found.step[r] = is_inside ? k->channels : 0;
  }
  return found;
}

/* Columns of pixels, transformed. */
static __attribute__((noinline)) float *tw_transform_columns(tw_rows at, int32_t count, float *to) {
  for (; count > 0; count--, to += TW_POINTS) {
    float x[TW_PIXELS], m[TW_POINTS];
    TW_UNROLLED(6) for (int r = 0; r < TW_PIXELS; r++) x[r] = *at.row[r], at.row[r] += at.step[r];
    tw_factors_of_pixels(x, m);
    TW_UNROLLED(6) for (int r = 0; r < TW_POINTS; r++) to[r] = m[r];
  }
  return to;
}

static inline float *tw_columns_of_zeros(int32_t count, float *to) {
  for (count *= TW_POINTS; count > 0; count--) *to++ = 0.0f;
  return to;
}

/* All columns that patches of a line see, from x on. */
static void tw_transform_line(const tw_image *k, int32_t image, int32_t y, int32_t x, int32_t count, int32_t channel) {
  const int32_t first = tw_min(tw_max(0, -x), count), inside = tw_max(0, tw_min(count, k->in_w - x) - first);
  float *to = tw_columns_of_zeros(first, k->line);
  if (inside > 0) to = tw_transform_columns(tw_rows_of(k, image, y, x + first, channel), inside, to);
  tw_columns_of_zeros(count - first - inside, to);
}

/* Columns of patches of a line, transformed the other way. `number` is that of the first patch. */
static __attribute__((noinline)) void tw_transform_patches_of_line(const tw_image *k, int32_t count, int32_t number, tw_places next,
                                                                   float *to) {
  const float *from = k->line;
  const int32_t middle = (TW_FORM == 3 ? 1 - k->odd_left : 3) * TW_POINTS;
  for (; count > 0; count--, from += (TW_STEP - 1) * TW_POINTS) {
    TW_ROLLED for (int r = 0; r < TW_POINTS; r++, from++, to += 4 * TW_POINTS) {
      float x[TW_PIXELS], m[TW_POINTS];
      TW_UNROLLED(6) for (int s = 0; s < TW_PIXELS; s++) x[s] = from[s < 3 || TW_FORM < 3 ? s * TW_POINTS : middle + (s - 3) * TW_POINTS];
      tw_factors_of_pixels(x, m);
      TW_UNROLLED(6) for (int s = 0; s < TW_POINTS; s++) to[4 * s] = m[s];
    }
    to += ((++number & 3) ? next.step : next.jump) - 4 * TW_MATRICES;
  }
}

/* All channels of some patches; a channel's cells begin `channel_step` behind those of the one before, but in the same
 * cell for channels of a quad, if `are_quads`. Cores take neighbouring channels, which lie in different banks. */
static void tw_transform_patches(const tw_image *k, const tw_round *round, int are_quads, int32_t channel_step,
                                 tw_places next, float *to) {
  const int32_t columns = (round->columns - 1) * TW_STEP + (TW_FORM == 3 ? 3 : TW_PIXELS);
  for (int32_t i = tw_core(); i < round->lines * k->channels; i += TW_CORES) {
    const int32_t line = i / k->channels, channel = i - line * k->channels, number = line * round->columns;
    const tw_place first = tw_place_of(round, number);
    tw_transform_line(k, first.image, first.y * TW_STEP - k->pad_top, first.x * TW_STEP - k->pad_left, columns, channel);
    const int32_t cell = are_quads ? (channel >> 2) * channel_step + (channel & 3) : channel * channel_step;
    const int32_t place = (number >> 2) * (3 * next.step + next.jump) + (number & 3) * next.step;
    tw_transform_patches_of_line(k, round->columns, number, next, to + cell + place);
  }
}

#endif
