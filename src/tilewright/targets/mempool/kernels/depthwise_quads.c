/* Depthwise convolution of bytes with channels last, four channels at a time; int32 totals, optionally requantised; all cores
 * together. Each core has some pixels of one quad of channels, or of several; the last quad may have fewer than four. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_quads
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#include "conv.h"
#include "panel_product.h"

#define TW_MOST_TAPS 64 /* of a filter: those of four are kept near the core */
#define X_BYTE(word, lane) ((TW_X)-1 < 0 ? tw_x_byte(word, lane) : tw_x_ubyte(word, lane))
#define W_BYTE(word, lane) ((TW_W)-1 < 0 ? tw_x_byte(word, lane) : tw_x_ubyte(word, lane))

/* Filters of four channels side by side, a word for each tap; and what their sums begin with. */
static void fill(const tw_conv_params *p, const TW_W *w, const int32_t *bias, uint32_t *to, int32_t *start) {
  const int32_t taps = p->kernel_h * p->kernel_w;
  const tw_share mine = tw_share_of(tw_panels_of(p->groups));
  for (int32_t quad = mine.first; quad < mine.end; quad++) {
    const uint8_t *const from = (const uint8_t *)w + 4 * quad * taps;
    const int32_t lanes = tw_min(p->groups - 4 * quad, 4);
    for (int32_t tap = 0; tap < taps; tap++) to[quad * taps + tap] = tw_word_of_bytes(from + tap, taps, lanes, 0);
    for (int32_t f = 0; f < lanes; f++) {
      uint32_t sum = 0;
      for (int32_t tap = 0; tap < taps; tap++) sum += (uint32_t)w[(4 * quad + f) * taps + tap];
      start[4 * quad + f] = (int32_t)((uint32_t)tw_conv_bias(p, bias, 4 * quad + f) - sum * (uint32_t)p->x_zero);
    }
  }
}

/* `lanes` is 0 where four are a word. */
static inline uint32_t word_at(const uint8_t *from, int32_t lanes) {
  return lanes ? tw_word_of_bytes(from, 1, lanes, 0) : *(const uint32_t *)(const void *)from;
}

TW_INLINE void multiply(int32_t *total, uint32_t x, uint32_t w) {
  total[0] = tw_x_mac(total[0], X_BYTE(x, 0), W_BYTE(w, 0));
  total[1] = tw_x_mac(total[1], X_BYTE(x, 1), W_BYTE(w, 1));
  total[2] = tw_x_mac(total[2], X_BYTE(x, 2), W_BYTE(w, 2));
  total[3] = tw_x_mac(total[3], X_BYTE(x, 3), W_BYTE(w, 3));
}

/* The window of one pixel begins at (top, left) of an image; what lies outside is its zero. */
TW_INLINE void sum_window(const tw_conv_params *p, const uint8_t *image, int32_t top, int32_t left, const uint32_t *w,
                          int32_t lanes, int32_t *total) {
  const int32_t depth = p->groups, height = p->in_h, width = p->in_w, right = p->kernel_w, step = p->dilation_w;
  const uint32_t zero = TW_ONES * (uint8_t)p->x_zero;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t y = top + r * p->dilation_h;
    const uint8_t *at = image + (y * width + left) * depth;
    const int is_inside = y >= 0 && y < height;
    for (int32_t s = 0, x = left; s < right; s++, x += step, at += step * depth) {
      multiply(total, is_inside && x >= 0 && x < width ? word_at(at, lanes) : zero, *w++);
    }
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params own = *params, *const p = &own;
  const int32_t taps = p->kernel_h * p->kernel_w, channels = p->groups, plane = p->out_h * p->out_w;
  const int32_t pixels = p->batch * plane, image_bytes = p->in_h * p->in_w * channels;
  uint32_t *const words = scratch;
  int32_t *const start = (int32_t *)(words + tw_panels_of(channels) * taps);
  const tw_product k = {.mul = mul, .add = add, .mul_column = p->mul_step, .add_column = p->add_step,
                        .requantised = p->requantised, .requant = p->requant, .y = y, .y_row = channels, .y_column = 1};
  const int is_aligned = (((uintptr_t)x | (uint32_t)channels) & 3) == 0;
  fill(p, w, b, words, start);
  tw_barrier();
  const tw_share mine = tw_share_of(tw_panels_of(channels) * pixels);
  if (mine.first >= mine.end) return;
  int32_t quad = mine.first / pixels, pixel = mine.first % pixels, kept = -1;
  int32_t image = pixel / plane, line = pixel % plane / p->out_w, column = pixel % p->out_w;
  uint32_t copied[TW_MOST_TAPS];
  for (int32_t n = mine.first; n < mine.end; n++) {
    if (quad != kept) {
      for (int32_t tap = 0; tap < taps; tap++) copied[tap] = words[quad * taps + tap];
      kept = quad;
    }
    const int32_t top = line * p->stride_h - p->pad_top, left = column * p->stride_w - p->pad_left;
    const int32_t *const first = start + 4 * quad, lanes = tw_min(channels - 4 * quad, 4);
    int32_t total[4];
    for (int32_t f = 0; f < 4; f++) total[f] = f < lanes ? first[f] : 0;
    const uint8_t *const from = (const uint8_t *)x + image * image_bytes + 4 * quad;
    sum_window(p, from, top, left, copied, is_aligned ? 0 : lanes, total);
    tw_block_results(&k, pixel, 1, 4 * quad, lanes, total);
    pixel++;
    if (++column < p->out_w) continue;
    column = 0;
    if (++line < p->out_h) continue;
    line = 0;
    if (++image < p->batch) continue;
    image = pixel = 0;
    quad++;
  }
}
