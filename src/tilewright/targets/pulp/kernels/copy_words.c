/* Elements of x in another order: transposed, sliced or repeated; all cores together. */
#include "copy.h"

#ifndef TW_NAME
#define TW_NAME tw_copy_words_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "bytes4.h"
#include "pack8.h"
#include "walk_from.h"

/* Rows of y that follow each other, of elements `step` apart in x. */
typedef struct {
  int32_t walked; /* how many of the loops are outside of them */
  int32_t rows, row_step;
  int32_t columns, step;
} plane;

static TW_COMPACT plane plane_of(const tw_copy_params *p) {
  const int32_t last = p->rank - 1, columns = p->size[last], step = p->stride[last];
  const int32_t part = columns / TW_CORES;
  const int is_few = tw_walk_length(last, p->size) < 4 * TW_CORES;
  if (is_few && part * TW_CORES == columns && part >= 4) {
    return (plane){last, TW_CORES, part * step, part, step}; /* too few rows for all cores: of parts of rows */
  }
  if (last == 0) return (plane){0, 1, 0, columns, step};
  return (plane){last - 1, p->size[last - 1], p->stride[last - 1], columns, step};
}

/* One element of each of many rows. */
static void copy_column(const TW_X *x, int32_t step_x, TW_Y *y, int32_t step_y, int32_t count) {
  if (sizeof *x == 4) {
    tw_copy_words((uint8_t *)y, 4 * step_y, (const uint8_t *)x, 4 * step_x, count);
    return;
  }
  for (; count >= 2; count -= 2, x += 2 * step_x, y += 2 * step_y) {
    const TW_X first = x[0], second = x[step_x];
    y[0] = (TW_Y)first;
    y[step_y] = (TW_Y)second;
  }
  if (count > 0) *y = (TW_Y)*x;
}

static void copy_apart(const TW_X *x, TW_Y *y, int32_t rows, const plane *plane) {
  const int32_t columns = plane->columns, step = plane->step, row_step = plane->row_step;
  if (rows > columns) {
    for (int32_t i = 0; i < columns; i++) copy_column(x + i * step, row_step, y + i, columns, rows);
  } else {
    for (int32_t row = 0; row < rows; row++) copy_column(x + row * row_step, step, y + row * columns, 1, columns);
  }
}

static void copy_rows(const TW_X *x, TW_Y *y, int32_t rows, const plane *plane) {
  const int32_t columns = plane->columns, row_step = plane->row_step;
  const int is_word = columns * sizeof *x == 4;
  for (int32_t row = 0; row < rows; row++, x += row_step, y += columns) {
    if (is_word) {
      tw_x_store(y, tw_x_load(x));
    } else {
      tw_copy_run((uint8_t *)y, (const uint8_t *)x, columns * (int32_t)sizeof *x);
    }
  }
}

static void copy_planes(const tw_copy_params *p, const TW_X *x, TW_Y *y, const plane *plane) {
  const int32_t rows = plane->rows;
  const tw_share share = tw_share_of(tw_walk_length(plane->walked, p->size) * rows);
  if (share.first >= share.end) return;
  const int32_t before = share.first / rows;
  int32_t at[TW_MAX_RANK], row = share.first - before * rows;
  int32_t offset = p->start + tw_walk_from(plane->walked, p->size, p->stride, before, at);
  for (int32_t i = share.first; i < share.end;) {
    const int32_t count = tw_min(share.end - i, rows - row);
    const TW_X *const from = x + offset + row * plane->row_step;
    if (plane->step == 1) {
      copy_rows(from, y + i * plane->columns, count, plane);
    } else {
      copy_apart(from, y + i * plane->columns, count, plane);
    }
    i += count;
    row = 0;
    tw_walk(plane->walked, p->size, p->stride, at, &offset);
  }
}

/* Bytes whose neighbours in x lie in neighbouring rows of y: four by four. Cores take blocks by turns, so that they
 * read neighbouring words, which are in different banks. */
static void transpose_planes(const tw_copy_params *p, const uint8_t *x, uint8_t *y) {
  const int32_t last = p->rank - 1, walked = last - 1, rows = p->size[walked], columns = p->size[last];
  const int32_t blocks = (rows + 3) / 4, planes = tw_walk_length(walked, p->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = p->start, block = tw_core();
  for (int32_t plane = 0; plane < planes; plane++, y += rows * columns) {
    for (; block < blocks; block += TW_CORES) {
      const int32_t first = tw_min(4 * block, rows - 4); /* the last block may begin in the one before */
      tw_pack_four(x + offset + first, p->stride[last], columns, y + first * columns, columns);
    }
    block -= blocks;
    tw_walk(walked, p->size, p->stride, at, &offset);
  }
}

/* Three planes of bytes become pixels of three: four pixels at a time. */
#define TW_ABCA 0x02040100u
#define TW_BC 0x00000503u
#define TW_CABC 0x07030206u

static void interleave_three(const tw_copy_params *p, const uint8_t *x, uint8_t *y) {
  const int32_t walked = p->rank - 2, rows = p->size[walked], step = p->stride[walked + 1];
  const int32_t blocks = (rows + 3) / 4, planes = tw_walk_length(walked, p->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = p->start, block = tw_core();
  for (int32_t plane = 0; plane < planes; plane++, y += 3 * rows) {
    for (; block < blocks; block += TW_CORES) {
      const int32_t first = tw_min(4 * block, rows - 4); /* the last block may begin in the one before */
      const uint8_t *const from = x + offset + first;
      const uint32_t a = tw_x_load(from), b = tw_x_load(from + step), c = tw_x_load(from + 2 * step);
      const uint32_t front = tw_x_shuffle2(a, b, TW_ZIP_LOW), rear = tw_x_shuffle2(a, b, TW_ZIP_HIGH);
      tw_x_store(y + 3 * first, tw_x_shuffle2(front, c, TW_ABCA));
      tw_x_store(y + 3 * first + 4, tw_x_shuffle2(tw_x_shuffle2(front, c, TW_BC), rear, TW_ZIP_FRONT));
      tw_x_store(y + 3 * first + 8, tw_x_shuffle2(rear, c, TW_CABC));
    }
    block -= blocks;
    tw_walk(walked, p->size, p->stride, at, &offset);
  }
}

void TW_NAME(const tw_copy_params *params, const TW_X *x, TW_Y *y) {
  const int32_t last = params->rank - 1;
  const int is_transposed = last > 0 && params->stride[last - 1] == 1 && params->stride[last] > 1;
  if (sizeof *x == 1 && is_transposed && params->size[last - 1] >= 4 && params->size[last] >= 4) {
    transpose_planes(params, (const uint8_t *)x, (uint8_t *)y);
    return;
  }
  if (sizeof *x == 1 && is_transposed && params->size[last - 1] >= 4 && params->size[last] == 3) {
    interleave_three(params, (const uint8_t *)x, (uint8_t *)y);
    return;
  }
  const plane plane = plane_of(params);
  copy_planes(params, x, y, &plane);
}
