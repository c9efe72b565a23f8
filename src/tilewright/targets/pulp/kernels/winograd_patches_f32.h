/* Patches of 4 x 4 pixels of an image, two pixels apart, transformed for convolutions with three by three taps. Of each
 * there are 16 numbers for 16 matrices. Four neighbours in one matrix lie beside each other, then those of the next
 * matrix: a cell. Channels last; all cores together. */
#ifndef TW_WINOGRAD_PATCHES_F32_H
#define TW_WINOGRAD_PATCHES_F32_H

#include "cluster.h"
#include "winograd_f32_sizes.h"

/* Arrays of an unrolled loop are registers. */
#define TW_AS_PRAGMA(x) _Pragma(#x)
#define TW_UNROLLED(turns) TW_AS_PRAGMA(GCC unroll turns)

typedef struct {
  const float *x, *zero;
  int32_t in_h, in_w, pad_top, pad_left, channels;
} tw_image;

/* Some patches: lines of all images, and columns of each line. */
typedef struct {
  int32_t line, lines, column, columns, down; /* down: lines of one image */
} tw_round;

/* The patches from a line and a column on, as many as there is room for. */
static inline tw_round tw_round_at(const tw_winograd_sizes *n, int32_t line, int32_t column) {
  const tw_patch_grid grid = tw_patches_at_once(n);
  const tw_round found = {line, tw_min(grid.lines, tw_lines_of_patches(n) - line), column,
                          tw_min(grid.columns, tw_patches_across(n) - column), tw_patches_down(n)};
  return found;
}

static inline int32_t tw_patches_of(const tw_round *round) { return round->lines * round->columns; }

/* Where the results of a patch are. */
typedef struct {
  int32_t image, y, x;
} tw_corner;

static inline tw_corner tw_corner_of(const tw_round *round, int32_t patch) {
  const int32_t down = patch / round->columns, line = round->line + down, image = line / round->down;
  const tw_corner found = {image, 2 * (line - image * round->down), 2 * (round->column + patch - down * round->columns)};
  return found;
}

/* How far the next patch's cell is: inside four patches, and from the last of them on. */
typedef struct {
  int32_t step, jump;
} tw_places;

/* Four rows of one channel; outside the image there are zeros. */
typedef struct {
  const float *row[4];
  int32_t step[4], x, in_w;
} tw_columns;

/* The next column, transformed. */
static inline __attribute__((always_inline)) void tw_next_column(tw_columns *at, float to[4]) {
  float a, b, c, d;
  if ((uint32_t)at->x < (uint32_t)at->in_w) {
    a = *at->row[0], b = *at->row[1], c = *at->row[2], d = *at->row[3];
  } else {
    a = b = c = d = 0.0f;
    __asm__ volatile(""); /* zeros are made here only: moves between registers keep the shared unit busy */
  }
  TW_UNROLLED(4) for (int r = 0; r < 4; r++) at->row[r] += at->step[r];
  at->x++;
  to[0] = a - c, to[1] = b + c, to[2] = c - b, to[3] = b - d;
}

/* Two columns and the two behind them, transformed the other way. */
static inline __attribute__((always_inline)) void tw_store_patch(const float first[8], const float second[8], float *to) {
  TW_UNROLLED(4) for (int r = 0; r < 4; r++) {
    const float a = first[r], b = first[4 + r], c = second[r], d = second[4 + r];
    to[16 * r] = a - c, to[16 * r + 4] = b + c, to[16 * r + 8] = c - b, to[16 * r + 12] = b - d;
  }
}

/* Patches of a line; each has two columns in common with the next. `number` is that of the first one. */
static __attribute__((noinline)) void tw_transform_line(const tw_columns *from, int32_t count, int32_t number, tw_places next,
                                                        float *to) {
  tw_columns at = *from;
  float even[8], odd[8];
  tw_next_column(&at, even), tw_next_column(&at, even + 4);
  for (;;) {
    tw_next_column(&at, odd), tw_next_column(&at, odd + 4);
    tw_store_patch(even, odd, to);
    to += (++number & 3) ? next.step : next.jump;
    if (--count == 0) return;
    tw_next_column(&at, even), tw_next_column(&at, even + 4);
    tw_store_patch(odd, even, to);
    to += (++number & 3) ? next.step : next.jump;
    if (--count == 0) return;
  }
}

static inline tw_columns tw_columns_of(const tw_image *k, int32_t image, int32_t y, int32_t x, int32_t channel) {
  tw_columns found = {{0}, {0}, x, k->in_w};
  for (int r = 0; r < 4; r++) {
    const int is_inside = y + r >= 0 && y + r < k->in_h;
    found.row[r] = is_inside ? k->x + ((image * k->in_h + y + r) * k->in_w + x) * k->channels + channel : k->zero;
    found.step[r] = is_inside ? k->channels : 0;
  }
  return found;
}

/* All channels of some patches; a channel's cells begin `channel_step` behind those of the one before, but in the same
 * cell for channels of a quad, if `are_quads`. */
static void tw_transform_patches(const tw_image *k, const tw_round *round, int are_quads, int32_t channel_step,
                                 tw_places next, float *to) {
  const tw_share share = tw_share_of(round->lines * k->channels);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t line = i / k->channels, channel = i - line * k->channels, number = line * round->columns;
    const tw_corner corner = tw_corner_of(round, number);
    const tw_columns at = tw_columns_of(k, corner.image, corner.y - k->pad_top, corner.x - k->pad_left, channel);
    const int32_t cell = are_quads ? (channel >> 2) * channel_step + (channel & 3) : channel * channel_step;
    const int32_t place = (number >> 2) * (3 * next.step + next.jump) + (number & 3) * next.step;
    tw_transform_line(&at, round->columns, number, next, to + cell + place);
  }
}

#endif
