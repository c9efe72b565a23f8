/* Convolution of bytes in which each filter sees one channel, channels last, by the vectors of RISC-V; weights are
 * [tap][channel].
 *
 * Rows of the image are copied, with what stands for zero beside them and columns that are a stride apart side by side:
 * what a tap sees of a row is then one piece, pixel after pixel. Where registers hold the channels of several pixels, so
 * many are computed at once, with weights once for each of them. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_widening
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "conv_dot_sizes.h"
#include "dot.h"

#define TW_FLIP (TW_IS_UNSIGNED(TW_X) ? 0x80 : 0)

/* What is the same for all pixels. */
typedef struct {
  const tw_conv_params *p;
  tw_way way;
  int32_t channels, taps;
  int32_t plane;        /* pixels of a copied row that are a stride apart */
  int32_t is_paired;    /* whether two products can be summed in 16 bits */
  int8_t *rows;         /* that are copied */
  const int8_t **at;    /* what taps see of a row of results */
} work;

/* Numbers side by side in the order of results, and what belongs to each. */
typedef struct {
  size_t vl;
  int64_t step, w_step; /* from such numbers to the next, from the weights of a tap to those of the next */
  const int8_t *w;
  const int32_t *b, *mul, *add;
} lanes;

/* ---- rows of the image ---- */

static void copy_pixels(const int8_t *from, int64_t bytes, int8_t *to) {
  for (int64_t i = 0; i < bytes; i++) to[i] = (int8_t)(from[i] ^ TW_FLIP);
}

/* A row of the image, or one beside it. */
static void copy_row(const work *k, const int8_t *x, int32_t row, int8_t *to) {
  const tw_conv_params *const p = k->p;
  const int32_t stride = p->stride_w, reach = tw_columns_reached(p);
  const int32_t left = tw_min(p->pad_left, reach), end = tw_min(left + p->in_w, reach);
  const int8_t *from = x + (int64_t)row * p->in_w * k->channels;
  const int is_inside = row >= 0 && row < p->in_h;
  if (!is_inside || left || end < stride * k->plane) {
    memset(to, (uint8_t)(p->x_zero ^ TW_FLIP), (size_t)stride * (size_t)k->plane * (size_t)k->channels);
  }
  if (!is_inside) return;
  if (stride == 1) {
    copy_pixels(from, (int64_t)(end - left) * k->channels, to + (int64_t)left * k->channels);
    return;
  }
  for (int32_t c = left; c < end; c++, from += k->channels) {
    copy_pixels(from, k->channels, to + ((int64_t)(c % stride) * k->plane + c / stride) * k->channels);
  }
}

/* Where taps see the row of results whose windows begin at a row of the image: rows that are new are copied. */
static void find_rows(const work *k, const int8_t *x, int32_t top, int32_t *copied) {
  const tw_conv_params *const p = k->p;
  const int32_t slots = tw_depthwise_slots(p);
  const int64_t size = (int64_t)p->stride_w * k->plane * k->channels;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t row = top + r * p->dilation_h, slot = (row + p->pad_top) % slots;
    int8_t *const to = k->rows + slot * size;
    if (copied[slot] != row) copy_row(k, x, row, to);
    copied[slot] = row;
    for (int32_t c = 0; c < p->kernel_w; c++) {
      const int32_t column = c * p->dilation_w;
      k->at[r * p->kernel_w + c] = to + ((int64_t)(column % p->stride_w) * k->plane + column / p->stride_w) * k->channels;
    }
  }
}

/* ---- results ---- */

TW_APART void store_any(const work *k, const lanes *l, const int32_t *total, TW_Y *y) {
  const tw_requant requant = k->p->requant;
  for (size_t i = 0; i < l->vl; i++) {
    y[i] = (TW_Y)(k->p->requantised ? tw_requantise(&requant, total[i], l->mul[i], l->add ? l->add[i] : 0) : total[i]);
  }
}

/* What turns totals into bytes, in registers. */
#define TW_LOAD_FACTORS(way, l)                                                                                  \
  const tw_requant requant = k->p->requant;                                                                      \
  const size_t bits = (size_t)requant.shift - 32;                                                                \
  const vint32m4_t bias = __riscv_vle32_v_i32m4((l)->b, vl);                                                      \
  const vint32m4_t mul = (way) == TW_ANY_WAY ? bias : __riscv_vle32_v_i32m4((l)->mul, vl);                        \
  const vuint16m2_t exponents =                                                                                  \
      TW_IS_NEAR(way) && (way) != TW_NEAR_WAY ? tw_exponents_part((l)->add, vl) : __riscv_vmv_v_x_u16m2(0, vl);

/* One of the ways that vectors go; TW_ANY_WAY stands for all others. */
TW_ALWAYS void store(tw_way way, const work *k, const lanes *l, const tw_requant *requant, vint32m4_t total, vint32m4_t mul,
                     vuint16m2_t exponents, size_t bits, TW_Y *y) {
  if (way == TW_ANY_WAY) {
    int32_t totals[TW_MOST_LANES];
    __riscv_vse32_v_i32m4(totals, total, l->vl);
    store_any(k, l, totals, y);
    return;
  }
  const vint16m2_t made = tw_scaled_part(way, total, mul, exponents, bits, l->vl);
  tw_store_part(y, tw_bounded_part(requant, made, l->vl), l->vl);
}

/* `count` times some lanes of 3 x 3 taps, whose weights stay in registers; two products fit 16 bits. */
TW_ALWAYS void nine_taps(tw_way way, const work *k, const lanes *l, int64_t first, int32_t count, TW_Y *y) {
  const size_t vl = l->vl;
  const int64_t step = l->step;
  const int8_t *x0 = k->at[0] + first, *x1 = k->at[1] + first, *x2 = k->at[2] + first, *x3 = k->at[3] + first,
               *x4 = k->at[4] + first, *x5 = k->at[5] + first, *x6 = k->at[6] + first, *x7 = k->at[7] + first,
               *x8 = k->at[8] + first;
#define TW_WEIGHTS(t) const vint8m1_t w##t = __riscv_vle8_v_i8m1(l->w + t * l->w_step, vl);
  TW_WEIGHTS(0) TW_WEIGHTS(1) TW_WEIGHTS(2) TW_WEIGHTS(3) TW_WEIGHTS(4) TW_WEIGHTS(5) TW_WEIGHTS(6) TW_WEIGHTS(7)
  TW_WEIGHTS(8)
#undef TW_WEIGHTS
  TW_LOAD_FACTORS(way, l)
#define TW_PAIR(a, b)                                                                                 \
  {                                                                                                   \
    vint16m2_t pair = __riscv_vwmul_vv_i16m2(__riscv_vle8_v_i8m1(x##a, vl), w##a, vl);                \
    pair = __riscv_vwmacc_vv_i16m2(pair, __riscv_vle8_v_i8m1(x##b, vl), w##b, vl);                    \
    total = __riscv_vwadd_wv_i32m4(total, pair, vl);                                                  \
    x##a += step, x##b += step;                                                                       \
  }
  for (; count > 0; count--, y += step, x8 += step) {
    vint32m4_t total = __riscv_vwadd_wv_i32m4(bias, __riscv_vwmul_vv_i16m2(__riscv_vle8_v_i8m1(x8, vl), w8, vl), vl);
    TW_PAIR(0, 1) TW_PAIR(2, 3) TW_PAIR(4, 5) TW_PAIR(6, 7)
    store(way, k, l, &requant, total, mul, exponents, bits, y);
  }
#undef TW_PAIR
}

/* The same of any number of taps. */
TW_ALWAYS void any_taps(tw_way way, const work *k, const lanes *l, int64_t first, int32_t count, TW_Y *y) {
  const size_t vl = l->vl;
  const int64_t step = l->step, w_step = l->w_step;
  const int32_t taps = k->taps;
  TW_LOAD_FACTORS(way, l)
  for (; count > 0; count--, y += step, first += step) {
    const int8_t *w = l->w;
    vint32m4_t total = bias;
    for (int32_t t = 0; t < taps; t++, w += w_step) {
      const vint8m1_t x = __riscv_vle8_v_i8m1(k->at[t] + first, vl), factor = __riscv_vle8_v_i8m1(w, vl);
      total = __riscv_vwadd_wv_i32m4(total, __riscv_vwmul_vv_i16m2(x, factor, vl), vl);
    }
    store(way, k, l, &requant, total, mul, exponents, bits, y);
  }
}

#define TW_WAY_FUNCTION(NAME, WAY)                                                                       \
  TW_APART void NAME(const work *k, const lanes *l, int64_t first, int32_t count, TW_Y *y) {             \
    if (k->taps == 9 && k->is_paired) nine_taps(WAY, k, l, first, count, y);                             \
    else any_taps(WAY, k, l, first, count, y);                                                           \
  }

TW_WAY_FUNCTION(in_any_way, TW_ANY_WAY)
TW_WAY_FUNCTION(in_near_way, TW_NEAR_WAY)
#if TW_HAS_DOUBLE_WAYS
TW_WAY_FUNCTION(in_double_way, TW_NEAR_DOUBLE_WAY)
TW_WAY_FUNCTION(in_double_up_way, TW_NEAR_DOUBLE_UP_WAY)
#endif

static void some_lanes(const work *k, const lanes *l, int64_t first, int32_t count, TW_Y *y) {
  if (count == 0 || l->vl == 0) return;
  if (sizeof(TW_Y) > 1 || !k->p->requantised || !tw_is_widened(k->way, &k->p->requant, l->add)) {
    in_any_way(k, l, first, count, y);
  } else if (k->way == TW_NEAR_WAY || k->way == TW_HIGH_WAY) {
    in_near_way(k, l, first, count, y);
#if TW_HAS_DOUBLE_WAYS
  } else if (k->way == TW_NEAR_DOUBLE_WAY) {
    in_double_way(k, l, first, count, y);
  } else {
    in_double_up_way(k, l, first, count, y);
#endif
  }
}

/* ---- all of it ---- */

/* The channels of several pixels at once; `l` has what belongs to them. */
static void by_pixels(const work *k, lanes l, TW_Y *y) {
  const int64_t all = (int64_t)k->p->out_w * k->channels, whole = all / l.step * l.step;
  some_lanes(k, &l, 0, (int32_t)(all / l.step), y);
  l.vl = (size_t)(all - whole);
  some_lanes(k, &l, whole, 1, y + whole);
}

/* Some channels of a pixel at once. */
static void by_channels(const work *k, const lanes *all, TW_Y *y) {
  for (int32_t c = 0; c < k->channels; c += TW_MOST_LANES) {
    lanes l = *all;
    for (size_t done = 0, most = (size_t)tw_min(TW_MOST_LANES, k->channels - c); done < most; done += l.vl) {
      const int64_t first = c + (int64_t)done;
      l.vl = __riscv_vsetvl_e8m1(most - done);
      l.w = all->w + first;
      l.b = all->b + first;
      l.mul = all->mul ? all->mul + first : NULL;
      l.add = all->add ? all->add + first : NULL;
      some_lanes(k, &l, first, k->p->out_w, y + first);
    }
  }
}

/* What belongs to channels, once for each of some pixels, in working memory. */
static lanes repeated(const work *k, const lanes *all, int32_t pixels, int32_t *values) {
  const int32_t channels = k->channels, count = pixels * channels;
  int32_t *const b = values, *const mul = b + TW_MOST_LANES, *const add = mul + TW_MOST_LANES;
  int8_t *const w = (int8_t *)(add + TW_MOST_LANES);
  for (int32_t i = 0; i < count; i++) {
    b[i] = all->b[i % channels];
    mul[i] = all->mul ? all->mul[i % channels] : 0;
    add[i] = all->add ? all->add[i % channels] : 0;
    for (int32_t t = 0; t < k->taps; t++) w[t * TW_MOST_LANES + i] = all->w[t * channels + i % channels];
  }
  const lanes made = {(size_t)count, count, TW_MOST_LANES, w, b, all->mul ? mul : NULL, all->add ? add : NULL};
  return made;
}

static int has_no_smallest(const int8_t *w, int64_t count) {
  int found = 0;
  for (int64_t i = 0; i < count; i++) found |= w[i] == -128;
  return !found;
}

void TW_NAME(const tw_conv_dot_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t channels = p->groups, taps = p->kernel_h * p->kernel_w, slots = tw_depthwise_slots(p);
  const int8_t **const at = scratch;
  int32_t *const copied = (int32_t *)(at + taps), *const values = copied + slots;
  int8_t *const rows = (int8_t *)(values + 3 * TW_MOST_LANES) + taps * TW_MOST_LANES;
  const work k = {p, (tw_way)params->way, channels, taps, tw_depthwise_plane(p), has_no_smallest(w, (int64_t)taps * channels),
                  rows, at};
  const lanes all = {0, channels, channels, w, b, mul, add};
  const int32_t pixels = (int32_t)__riscv_vsetvl_e8m1(TW_MOST_LANES) / channels;
  const lanes several = pixels > 1 ? repeated(&k, &all, pixels, values) : all;
  for (int32_t image = 0; image < p->batch; image++) {
    const int8_t *const from = (const int8_t *)x + (int64_t)image * p->in_h * p->in_w * channels;
    for (int32_t i = 0; i < slots; i++) copied[i] = -p->pad_top - 1;
    for (int32_t row = 0; row < p->out_h; row++, y += (int64_t)p->out_w * channels) {
      find_rows(&k, from, row * p->stride_h - p->pad_top, copied);
      if (pixels > 1) {
        by_pixels(&k, several, y);
      } else {
        by_channels(&k, &all, y);
      }
    }
  }
}
