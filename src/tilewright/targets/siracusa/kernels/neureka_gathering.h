/* One core and the DMA gather windows into strips (neureka_gathered.h). */
#ifndef TW_NEUREKA_GATHERING_H
#define TW_NEUREKA_GATHERING_H

#include "neureka_gathered.h"
#include "xpulp.h"

/* Of the runtime (dma.h). */
uint32_t tw_dma_begin(void);
void tw_dma_wait(uint32_t id);
void tw_dma_in_rows(void *l1, const void *l2, uint32_t rows, uint32_t row, uint32_t stride);
void tw_dma_in_strided(void *l1, uint32_t l1_stride, const void *l2, uint32_t l2_stride, uint32_t rows, uint32_t row);

/* At any address; a value of four equal bytes. */
static inline void tw_gather_fill(uint8_t *to, int32_t bytes, uint32_t value) {
  for (; bytes >= 16; bytes -= 16, to += 16) {
    tw_x_store(to, value);
    tw_x_store(to + 4, value);
    tw_x_store(to + 8, value);
    tw_x_store(to + 12, value);
  }
  for (; bytes > 0; bytes--) *to++ = (uint8_t)value;
}

/* The strip whose first byte would be byte `first` of a row; it may begin before the row and end behind it. The DMA copies
 * what lies inside, row by row where the rows of the strip have gaps then. */
static inline void tw_gather_strip(const tw_neureka_gather *g, uint8_t *to, const uint8_t *image, int32_t first) {
  const uint32_t fill = (uint32_t)(g->fill & 0xff) * 0x01010101u;
  const int32_t before = tw_x_clipu(-first, g->run), after = tw_x_clipu(g->width - first, g->run);
  const int32_t inside = tw_x_max(0, tw_x_min(g->height, g->rows - g->top));
  uint8_t *const rows = to + g->top * g->run;
  if (before > 0 || after < g->run) {
    tw_gather_fill(to, g->rows * g->run, fill);
    if (after <= before || inside <= 0) return;
    tw_dma_in_strided(rows + before, (uint32_t)g->run, image + first + before, (uint32_t)g->width, (uint32_t)inside,
                    (uint32_t)(after - before));
    return;
  }
  if (inside > 0) tw_dma_in_rows(rows, image + first, (uint32_t)inside, (uint32_t)g->run, (uint32_t)g->width);
  tw_gather_fill(to, g->top * g->run, fill);
  tw_gather_fill(rows + inside * g->run, (g->rows - g->top - inside) * g->run, fill);
}

static inline void tw_gather(const tw_neureka_gather *g, const void *x, void *strips) {
  const uint8_t *image = x;
  uint8_t *to = strips;
  const uint32_t transfers = tw_dma_begin();
  for (int32_t i = 0; i < g->images; i++, image += g->height * g->width) {
    for (int32_t column = 0; column < g->columns; column++, to += g->rows * g->run) {
      tw_gather_strip(g, to, image, column * g->step - g->left);
    }
  }
  tw_dma_wait(transfers);
}

/* Bytes of all strips, in whole words. */
static inline int32_t tw_gather_bytes(const tw_neureka_gather *g) {
  return (g->images * g->columns * g->rows * g->run + 3) & ~3;
}

#endif
