/* One core gathers windows into strips (neureka_gathered.h). */
#ifndef TW_NEUREKA_GATHERING_H
#define TW_NEUREKA_GATHERING_H

#include "neureka_gathered.h"
#include "xpulp.h"

static inline void tw_gather_fill(uint8_t *to, int32_t bytes, int32_t value) {
  for (int32_t i = 0; i < bytes; i++) to[i] = (uint8_t)value;
}

/* Rows of `bytes` bytes, four at a time; the last four may be copied in part twice. */
static inline void tw_gather_rows(uint8_t *to, int32_t to_row, const uint8_t *from, int32_t from_row, int32_t bytes, int32_t rows) {
  for (int32_t row = 0; row < rows; row++, to += to_row, from += from_row) {
    int32_t i = 0;
    for (; i + 4 <= bytes; i += 4) tw_x_store(to + i, tw_x_load(from + i));
    if (i == bytes) continue;
    if (bytes >= 4) {
      tw_x_store(to + bytes - 4, tw_x_load(from + bytes - 4));
      continue;
    }
    for (; i < bytes; i++) to[i] = from[i];
  }
}

/* The strip whose first byte would be byte `first` of a row; it may begin before the row and end behind it. */
static inline void tw_gather_strip(const tw_neureka_gather *g, uint8_t *to, const uint8_t *image, int32_t first) {
  const int32_t before = tw_x_clipu(-first, g->run), after = tw_x_clipu(g->width - first, g->run);
  const int32_t inside = tw_x_max(0, tw_x_min(g->height, g->rows - g->top));
  if (before > 0 || after < g->run) {
    tw_gather_fill(to, g->rows * g->run, g->fill);
  } else {
    tw_gather_fill(to, g->top * g->run, g->fill);
    tw_gather_fill(to + (g->top + inside) * g->run, (g->rows - g->top - inside) * g->run, g->fill);
  }
  tw_gather_rows(to + g->top * g->run + before, g->run, image + first + before, g->width, after - before, inside);
}

static inline void tw_gather(const tw_neureka_gather *g, const void *x, void *strips) {
  const uint8_t *image = x;
  uint8_t *to = strips;
  for (int32_t i = 0; i < g->images; i++, image += g->height * g->width) {
    for (int32_t column = 0; column < g->columns; column++, to += g->rows * g->run) {
      tw_gather_strip(g, to, image, column * g->step - g->left);
    }
  }
}

/* Bytes of all strips, in whole words. */
static inline int32_t tw_gather_bytes(const tw_neureka_gather *g) {
  return (g->images * g->columns * g->rows * g->run + 3) & ~3;
}

#endif
