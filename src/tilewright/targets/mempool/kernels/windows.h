/* Windows over images with channels last: all channels of all pixels, or words of them, are one list, of which each core has a
 * part. */
#ifndef TW_WINDOWS_H
#define TW_WINDOWS_H

#include "byte_words.h"

typedef struct {
  int32_t image, row, column; /* of the result */
} tw_pixel;

static inline tw_pixel tw_pixel_at(int32_t number, int32_t out_h, int32_t out_w) {
  const int32_t line = number / out_w, image = line / out_h;
  const tw_pixel pixel = {image, line - image * out_h, number - line * out_w};
  return pixel;
}

static inline void tw_next_pixel(tw_pixel *pixel, int32_t out_h, int32_t out_w) {
  if (++pixel->column < out_w) return;
  pixel->column = 0;
  if (++pixel->row < out_h) return;
  pixel->row = 0;
  pixel->image++;
}

/* Calls SOME with the parameters, the image, where the window of a pixel begins in it, how many channels or words a pixel has,
 * which of them are this core's, and where results go. Parts are whole blocks. */
#define TW_OWN_WINDOWS(SOME, p, words, block, x, y)                                                                 \
  do {                                                                                                              \
    const tw_share mine = tw_share_in_blocks((p)->batch * (p)->out_h * (p)->out_w * (words), block);                \
    if (mine.first >= mine.end) break;                                                                              \
    const int32_t number = mine.first / (words), image_size = (p)->in_h * (p)->in_w * (words);                      \
    int32_t word = mine.first - number * (words);                                                                   \
    tw_pixel pixel = tw_pixel_at(number, (p)->out_h, (p)->out_w);                                                   \
    for (int32_t i = mine.first; i < mine.end; word = 0) {                                                          \
      const int32_t count = tw_min((words) - word, mine.end - i);                                                   \
      SOME(p, (x) + pixel.image * image_size, pixel.row * (p)->stride_h - (p)->pad_top,                             \
           pixel.column * (p)->stride_w - (p)->pad_left, words, word, count, (y) + i);                              \
      i += count;                                                                                                   \
      tw_next_pixel(&pixel, (p)->out_h, (p)->out_w);                                                                \
    }                                                                                                               \
  } while (0)

#endif
