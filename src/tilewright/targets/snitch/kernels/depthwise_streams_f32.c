/* Convolution of floats whose groups have one input channel each, channels second; all cores together */
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_depthwise_streams_f32
#endif

#define TW_ELEMENT uint32_t
#define TW_AS_FLOAT(element, table) (element)
#include "depthwise_streams.h"

static void copy_weights(const tw_planes *k, const uint32_t *filter, uint32_t *to) {
  for (int32_t i = 0; i < k->taps; i++) to[2 * i] = filter[i];
}

static void place(const uint32_t *from, uint32_t *to, int32_t count) {
  for (; count >= 4; count -= 4, from += 8, to += 4) {
    const uint32_t a = from[0], b = from[2], c = from[4], d = from[6];
    to[0] = a;
    to[1] = b;
    to[2] = c;
    to[3] = d;
  }
  for (; count > 0; count--, from += 2) *to++ = *from;
}

void TW_NAME(const tw_conv_params *params, const float *x, const float *filters, const float *b, float *y, void *scratch) {
  const tw_conv_params *const p = params;
  const tw_planes k = tw_planes_in(p, 0, scratch);
  const uint32_t *const weights = (const uint32_t *)filters, *const bias = (const uint32_t *)b;
  tw_pieces pieces = tw_pieces_of(p);
  tw_piece piece;
  while (tw_next_piece(&pieces, p, &piece)) {
    const int32_t plane = p->out_h * p->out_w, count = piece.rows * p->out_w, at = piece.row * p->out_w;
    uint32_t *const image = (uint32_t *)y + piece.image * p->groups * p->out_channels * plane + at;
    tw_copy_piece(&k, &piece, (const uint32_t *)x);
    copy_weights(&k, weights + piece.first * k.taps, k.weights);
    copy_weights(&k, weights + piece.second * k.taps, k.weights + 1);
    tw_begin_with(bias ? bias[piece.first * p->bias_step] : 0, bias ? bias[piece.second * p->bias_step] : 0);
    tw_convolve_rows(&k, piece.rows);
    place(k.sums, image + piece.first * plane, count);
    if (piece.second != piece.first) place(k.sums + 1, image + piece.second * plane, count);
  }
}
