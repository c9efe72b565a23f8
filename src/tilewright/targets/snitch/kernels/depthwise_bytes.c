/* Convolution of bytes whose groups have one input channel each, channels second; int32 totals, optionally requantised; all cores
 * together */
#include "own_requant.h"
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_depthwise_bytes
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#include "byte_totals.h"

#define TW_ELEMENT uint8_t
#define TW_AS_FLOAT(element, table) table[element]
#include "depthwise_streams.h"

enum { X_IS_SIGNED = (TW_X)-1 < 0, W_IS_SIGNED = (TW_W)-1 < 0 };

static void convert_weights(const tw_planes *k, const uint8_t *filter, const uint32_t *table, uint32_t *to) {
  for (int32_t i = 0; i < k->taps; i++) to[2 * i] = table[filter[i]];
}

typedef struct {
  const int32_t *bias, *mul, *add;
} constants;

/* One filter's part of a plane. Its totals have one factor and one summand. */
#define DEFINE_PLANE(NAME, NARROW)                                                                                     \
  static __attribute__((noinline)) void NAME(const tw_requant *requant, int32_t bias, int32_t factor, int32_t add,     \
                                             const uint32_t *from, TW_Y *to, int32_t count) {                          \
    const tw_narrowing n = tw_narrowing_of(requant);                                                                   \
    const uint32_t origin = TW_ORIGIN_BITS - (uint32_t)bias;                                                           \
    for (; count > 0; count--, from += 2) {                                                                            \
      const int64_t product = (int64_t)(int32_t)(*from - origin) * factor;                                             \
      *to++ = (TW_Y)NARROW(&n, product + add);                                                                         \
    }                                                                                                                  \
  }
DEFINE_PLANE(near_plane, tw_narrow_near)
DEFINE_PLANE(far_plane, tw_narrow_far)

static TW_COMPACT void any_plane(const tw_conv_params *p, int32_t bias, int32_t mul, int32_t add, const uint32_t *from, TW_Y *to, int32_t count) {
  for (; count > 0; count--, from += 2) {
    const int32_t total = (int32_t)(*from - TW_ORIGIN_BITS + (uint32_t)bias);
    *to++ = (TW_Y)(p->requantised ? tw_requantise_byte(&p->requant, total, mul, add) : total);
  }
}

static void place(const tw_conv_params *p, constants c, int32_t filter, const uint32_t *from, TW_Y *to, int32_t count) {
  const tw_requant *const r = &p->requant;
  const int32_t bias = c.bias ? c.bias[filter * p->bias_step] : 0, mul = c.mul ? c.mul[filter * p->mul_step] : 1;
  const int32_t add = c.add ? c.add[filter * p->add_step] : 0;
  if (!p->requantised || TW_IS_TFLITE(r) || r->shift == 0) {
    any_plane(p, bias, mul, add, from, to, count);
  } else if (r->shift < 32) {
    near_plane(r, bias, mul, add, from, to, count);
  } else {
    far_plane(r, bias, mul, add, from, to, count);
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *filters, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = params;
  float *const left = scratch, *const right = left + 256;
  const tw_planes k = tw_planes_in(p, (const uint32_t *)left, (uint32_t *)(right + 256));
  const uint8_t *const weights = (const uint8_t *)filters;
  const constants c = {b, mul, add};
  tw_pieces pieces = tw_pieces_of(p);
  tw_piece piece;
  tw_fill_table(left, X_IS_SIGNED, p->x_zero);
  tw_fill_table(right, W_IS_SIGNED, p->w_zero);
  tw_barrier();
  while (tw_next_piece(&pieces, p, &piece)) {
    const int32_t plane = p->out_h * p->out_w, count = piece.rows * p->out_w, at = piece.row * p->out_w;
    TW_Y *const image = y + piece.image * p->groups * p->out_channels * plane + at;
    tw_copy_piece(&k, &piece, (const uint8_t *)x);
    convert_weights(&k, weights + piece.first * k.taps, (const uint32_t *)right, k.weights);
    convert_weights(&k, weights + piece.second * k.taps, (const uint32_t *)right, k.weights + 1);
    tw_begin_with(TW_ORIGIN_BITS, TW_ORIGIN_BITS);
    tw_convolve_rows(&k, piece.rows);
    place(p, c, piece.first, k.sums, image + piece.first * plane, count);
    if (piece.second != piece.first) place(p, c, piece.second, k.sums + 1, image + piece.second * plane, count);
  }
}
