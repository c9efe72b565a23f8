/* The panel: for a block of output pixels, the input element under each tap; one row for each channel and tap.
 * Needs what conv_band.h needs. */
#ifndef TW_CONV_PANEL_H
#define TW_CONV_PANEL_H

#include "conv_band.h"

/* A block of pixels in the order of rows, and the band that it reads. */
typedef struct {
  int32_t out_y, out_x; /* the first pixel */
  int32_t pixels;
  int32_t left; /* the column of the result where the band begins */
  tw_band band;
  int32_t band_is_panel; /* one row and one tap: each channel's row of the band is a row of the panel */
} tw_block;

static inline tw_block tw_block_at(const tw_conv_params *p, int32_t pixel) {
  tw_block block;
  block.out_y = pixel / p->out_w;
  block.out_x = pixel % p->out_w;
  block.pixels = tw_min(TW_PIXELS, p->out_h * p->out_w - pixel);
  const int one_row = block.out_x + block.pixels <= p->out_w;
  const int32_t last_y = (pixel + block.pixels - 1) / p->out_w;
  block.left = one_row ? block.out_x : 0;
  block.band = tw_band_of(p, block.out_y, block.left, last_y - block.out_y + 1, one_row ? block.pixels : p->out_w);
  block.band_is_panel = one_row && p->kernel_h == 1 && p->kernel_w == 1 && p->stride_w == 1;
  if (block.band_is_panel) block.band.pitch = TW_PIXELS;
  return block;
}

/* A fixed length, so that the compiler needs no loop. What is too much is overwritten by the next copy. */
static inline void tw_panel_copy(TW_PANEL *restrict to, const TW_PANEL *restrict from, int32_t step) {
  if (step == 1) {
    for (int32_t i = 0; i < TW_PIXELS; i++) to[i] = from[i];
  } else if (step == 2) {
    for (int32_t i = 0; i < TW_PIXELS; i++) to[i] = from[2 * i];
  } else {
    for (int32_t i = 0; i < TW_PIXELS; i++) to[i] = from[i * step];
  }
}

/* The panel of a block for some channels, from their band. */
static void tw_panel_gather(const tw_conv_params *p, const tw_block *block, const TW_PANEL *from, int32_t channels,
                            TW_PANEL *panel) {
  const int32_t pitch = block->band.pitch, step = p->stride_w, out_w = p->out_w;
  for (int32_t c = 0; c < channels; c++, from += block->band.rows * pitch) {
    for (int32_t r = 0; r < p->kernel_h; r++) {
      for (int32_t s = 0; s < p->kernel_w; s++, panel += TW_PIXELS) {
        const TW_PANEL *row = from + r * p->dilation_h * pitch + s * p->dilation_w;
        int32_t x = block->out_x;
        for (int32_t done = 0; done < block->pixels; row += p->stride_h * pitch) {
          tw_panel_copy(panel + done, row + (x - block->left) * step, step);
          done += out_w - x;
          x = 0;
        }
      }
    }
  }
}

/* Loads band and panel for some channels and returns the panel. Both lie in `memory`, the panel first. */
static const TW_PANEL *tw_panel_load(const tw_conv_params *p, const tw_block *block, const TW_X *x, int32_t channels,
                                     TW_PANEL outside, TW_PANEL *memory) {
  TW_PANEL *const band = memory + tw_panel_alone(p, channels);
  tw_band_load(p, &block->band, x, channels, outside, band);
  if (block->band_is_panel) return band;
  tw_panel_gather(p, block, band, channels, memory);
  return memory;
}

#endif
