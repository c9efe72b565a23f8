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

/* Columns of pixels of one channel or of two, transformed. */
static inline __attribute__((always_inline)) float *tw_transform_channels(int together, tw_rows at, int32_t count, float *to) {
  for (; count > 0; count--, to += together * TW_POINTS) {
    float x[TW_PIXELS], y[TW_PIXELS], m[TW_POINTS];
    const float *second[TW_PIXELS];
    TW_UNROLLED(6) for (int r = 0; r < TW_PIXELS; r++) x[r] = tw_take(at.row[r]), second[r] = at.row[r] + 1;
    tw_factors_of_pixels(x, m, (tw_moves){together > 1, 0, second, y, 0, 0, 0});
    TW_UNROLLED(6) for (int r = 0; r < TW_PIXELS; r++) at.row[r] += at.step[r];
    float *last = to;
    if (together > 1) {
      float first[TW_POINTS];
      TW_UNROLLED(6) for (int r = 0; r < TW_POINTS; r++) first[r] = m[r];
      tw_factors_of_pixels(y, m, (tw_moves){0, 1, 0, 0, first, to, 1});
      last += TW_POINTS;
    }
    TW_UNROLLED(6) for (int r = 0; r < TW_POINTS; r++) tw_put(last + r, m[r]);
  }
  return to;
}

static __attribute__((noinline)) float *tw_transform_columns(tw_rows at, int32_t count, float *to) {
  return tw_transform_channels(1, at, count, to);
}

static __attribute__((noinline)) float *tw_transform_two_columns(tw_rows at, int32_t count, float *to) {
  return tw_transform_channels(2, at, count, to);
}

static inline float *tw_columns_of_zeros(int32_t count, float *to) {
  for (count *= TW_POINTS; count > 0; count--) *to++ = 0.0f;
  return to;
}

/* All columns that patches of a line see, from x on. */
static void tw_transform_line(const tw_image *k, int32_t image, int32_t y, int32_t x, int32_t count, int32_t channel,
                              int32_t together) {
  const int32_t first = tw_min(tw_max(0, -x), count), inside = tw_max(0, tw_min(count, k->in_w - x) - first);
  float *to = tw_columns_of_zeros(first * together, k->line);
  if (inside > 0) {
    const tw_rows rows = tw_rows_of(k, image, y, x + first, channel);
    to = together > 1 ? tw_transform_two_columns(rows, inside, to) : tw_transform_columns(rows, inside, to);
  }
  tw_columns_of_zeros((count - first - inside) * together, to);
}

/* One row of a patch's matrices after the other: three of them, each loaded and stored while its neighbour is computed. */
static inline __attribute__((always_inline)) void tw_transform_rows(const float *const from[TW_PIXELS], int count, float *to) {
  float x[6][TW_PIXELS], m[6][TW_POINTS];
  const float *next[TW_PIXELS];
  TW_UNROLLED(6) for (int s = 0; s < TW_PIXELS; s++) x[0][s] = tw_take(from[s]);
  TW_UNROLLED(6) for (int r = 0; r < count; r++) {
    TW_UNROLLED(6) for (int s = 0; s < TW_PIXELS; s++) next[s] = from[s] + r + 1;
    tw_factors_of_pixels(x[r], m[r], (tw_moves){r + 1 < count, r > 0, next, x[r + 1 < count ? r + 1 : r], m[r > 0 ? r - 1 : r],
                                                to + 4 * TW_POINTS * (r - 1), 4});
  }
  TW_UNROLLED(6) for (int s = 0; s < TW_POINTS; s++) tw_put(to + 4 * (TW_POINTS * (count - 1) + s), m[count - 1][s]);
}

/* Columns of patches of a line, transformed the other way, which are `together` channels apart. `number` is that of the
 * first patch. */
static inline __attribute__((always_inline)) void tw_transform_channel_of_line(const tw_image *k, int together, const float *from,
                                                                               int32_t count, int32_t number, tw_places next,
                                                                               float *to) {
  const int32_t column = together * TW_POINTS, middle = (TW_FORM == 3 ? 1 - k->odd_left : 3) * column;
  for (; count > 0; count--, from += TW_STEP * column) {
    const float *at[TW_PIXELS];
    TW_UNROLLED(6) for (int s = 0; s < TW_PIXELS; s++) at[s] = from + (s < 3 || TW_FORM < 3 ? s * column : middle + (s - 3) * column);
#if TW_FORM == 1
    TW_ROLLED for (int r = 0; r < 2; r++, to += 12 * TW_POINTS) {
      tw_transform_rows(at, 3, to);
      TW_UNROLLED(6) for (int s = 0; s < TW_PIXELS; s++) at[s] += 3;
    }
#else
    tw_transform_rows(at, 5, to);
    to += 20 * TW_POINTS;
#endif
    to += ((++number & 3) ? next.step : next.jump) - 4 * TW_MATRICES;
  }
}

static __attribute__((noinline)) void tw_transform_patches_of_line(const tw_image *k, const float *from, int32_t count,
                                                                   int32_t number, tw_places next, float *to) {
  tw_transform_channel_of_line(k, 1, from, count, number, next, to);
}

static __attribute__((noinline)) void tw_transform_patches_of_two(const tw_image *k, const float *from, int32_t count,
                                                                  int32_t number, tw_places next, float *to) {
  tw_transform_channel_of_line(k, 2, from, count, number, next, to);
}

/* Channels that a core takes at once: two of them share the way along the rows, unless cores then wait for each other. */
static inline int32_t tw_channels_together(int32_t lines, int32_t channels) {
  const int32_t alone = (lines * channels + TW_CORES - 1) / TW_CORES;
  return (channels & 1) == 0 && 2 * ((lines * (channels >> 1) + TW_CORES - 1) / TW_CORES) <= alone ? 2 : 1;
}

/* Where a patch's number in the first matrix is. */
static inline int32_t tw_place_in_cells(int32_t patch, tw_places next) {
  return (patch >> 2) * (3 * next.step + next.jump) + (patch & 3) * next.step;
}

static inline int32_t tw_place_of_channel(int32_t channel, int are_quads, int32_t channel_step) {
  return are_quads ? (channel >> 2) * channel_step + (channel & 3) : channel * channel_step;
}

/* Channels that pairs or quads of them lack, up to `end`, are zeros. */
static void tw_fill_channels(const tw_image *k, int32_t patches, int32_t end, int are_quads, int32_t channel_step,
                             tw_places next, float *to) {
  const tw_share share = tw_share_of(patches);
  for (int32_t channel = k->channels; channel < end; channel++) {
    for (int32_t patch = share.first; patch < share.end; patch++) {
      float *const cell = to + tw_place_of_channel(channel, are_quads, channel_step) + tw_place_in_cells(patch, next);
      TW_ROLLED for (int32_t m = 0; m < TW_MATRICES; m++) cell[4 * m] = 0.0f;
    }
  }
}

/* All channels of some patches; a channel's cells begin `channel_step` behind those of the one before, but in the same
 * cell for channels of a quad, if `are_quads`. Cores take neighbouring channels, which lie in different banks. */
static void tw_transform_patches(const tw_image *k, const tw_round *round, int are_quads, int32_t channel_step,
                                 tw_places next, float *to) {
  const int32_t columns = (round->columns - 1) * TW_STEP + (TW_FORM == 3 ? 3 : TW_PIXELS);
  const int32_t together = tw_channels_together(round->lines, k->channels), parts = k->channels / together;
  for (int32_t i = tw_core(); i < round->lines * parts; i += TW_CORES) {
    const int32_t line = i / parts, channel = (i - line * parts) * together, number = line * round->columns;
    const tw_place first = tw_place_of(round, number);
    tw_transform_line(k, first.image, first.y * TW_STEP - k->pad_top, first.x * TW_STEP - k->pad_left, columns, channel, together);
    const int32_t place = tw_place_in_cells(number, next);
    for (int32_t c = channel; c < channel + together; c++) {
      float *const cell = to + place + tw_place_of_channel(c, are_quads, channel_step);
      if (together > 1) {
        tw_transform_patches_of_two(k, k->line + (c - channel) * TW_POINTS, round->columns, number, next, cell);
      } else {
        tw_transform_patches_of_line(k, k->line, round->columns, number, next, cell);
      }
    }
  }
}

#endif
