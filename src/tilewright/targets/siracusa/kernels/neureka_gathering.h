/* All cores gather windows into strips (neureka_gathered.h). */
#ifndef TW_NEUREKA_GATHERING_H
#define TW_NEUREKA_GATHERING_H

#include "cluster.h"
#include "neureka_gathered.h"
#include "xpulp.h"

/* At any address; a value of four equal bytes. */
static TW_COMPACT void tw_gather_fill(uint8_t *to, int32_t bytes, uint32_t value) {
  for (; bytes >= 4; bytes -= 4, to += 4) tw_x_store(to, value);
  for (; bytes > 0; bytes--) *to++ = (uint8_t)value;
}

/* Rows of at least four bytes, at any address: words, of which the last has some bytes of the one before. */
static inline void tw_gather_words(uint8_t *to, const uint8_t *from, int32_t rows, int32_t bytes, int32_t to_row,
                                   int32_t from_row) {
  for (; rows > 0; rows--, to += to_row, from += from_row) {
    int32_t at = 0;
    for (; at + 16 <= bytes; at += 16) {
      const uint32_t a = tw_x_load(from + at), b = tw_x_load(from + at + 4), c = tw_x_load(from + at + 8),
                     d = tw_x_load(from + at + 12);
      tw_x_store(to + at, a);
      tw_x_store(to + at + 4, b);
      tw_x_store(to + at + 8, c);
      tw_x_store(to + at + 12, d);
    }
    for (; at + 4 <= bytes; at += 4) tw_x_store(to + at, tw_x_load(from + at));
    if (at < bytes) tw_x_store(to + bytes - 4, tw_x_load(from + bytes - 4));
  }
}

static inline void tw_gather_rows(uint8_t *to, const uint8_t *from, int32_t rows, int32_t bytes, int32_t to_row,
                                  int32_t from_row) {
  if (bytes >= 4) {
    tw_gather_words(to, from, rows, bytes, to_row, from_row);
    return;
  }
  for (; rows > 0; rows--, to += to_row, from += from_row) {
    for (int32_t i = 0; i < bytes; i++) to[i] = from[i];
  }
}

/* Rows `row` to before `end` of the strip that begins at byte `first` of the image's rows, which may lie before them. */
static inline void tw_gather_strip(const tw_neureka_gather *g, uint8_t *strip, const uint8_t *image, int32_t first,
                                   int32_t row, int32_t end) {
  const uint32_t fill = (uint32_t)(g->fill & 0xff) * 0x01010101u;
  const int32_t before = tw_x_clipu(-first, g->run), after = tw_x_clipu(g->width - first, g->run);
  const int32_t from = tw_x_min(end, tw_x_max(row, g->top)), to = tw_x_max(from, tw_x_min(end, g->top + g->height));
  if (before > 0 || after < g->run) {
    tw_gather_fill(strip + row * g->run, (end - row) * g->run, fill);
  } else {
    tw_gather_fill(strip + row * g->run, (from - row) * g->run, fill);
    tw_gather_fill(strip + to * g->run, (end - to) * g->run, fill);
  }
  if (after <= before) return;
  tw_gather_rows(strip + from * g->run + before, image + (from - g->top) * g->width + first + before, to - from,
                 after - before, g->run, g->width);
}

/* This core's part of the rows of all strips. */
static inline void tw_gather(const tw_neureka_gather *g, const void *x, void *strips) {
  const tw_share share = tw_share_of(g->images * g->columns * g->rows);
  int32_t strip = (int32_t)((uint32_t)share.first / (uint32_t)g->rows), row = share.first - strip * g->rows;
  int32_t image = (int32_t)((uint32_t)strip / (uint32_t)g->columns), column = strip - image * g->columns;
  for (int32_t left = share.end - share.first; left > 0;) {
    const int32_t end = tw_x_min(g->rows, row + left);
    tw_gather_strip(g, (uint8_t *)strips + strip * g->rows * g->run, (const uint8_t *)x + image * g->height * g->width,
                    column * g->step - g->left, row, end);
    left -= end - row;
    row = 0, strip++;
    if (++column == g->columns) column = 0, image++;
  }
}

/* Bytes of all strips, in whole words. */
static inline int32_t tw_gather_bytes(const tw_neureka_gather *g) {
  return (g->images * g->columns * g->rows * g->run + 3) & ~3;
}

#endif
