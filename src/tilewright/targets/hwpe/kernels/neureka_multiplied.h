/* Results of 8 and 16 bits whose totals N-EUREKA has multiplied, and the sums of parts of such totals: 3 cycles for a result, 4 where
 * it is left to shift, 5 where there is a bias besides. */
#ifndef TW_NEUREKA_MULTIPLIED_H
#define TW_NEUREKA_MULTIPLIED_H

#include "dot.h"
#include "neureka_finished.h"
#include "neureka_sums.h"
#include "xpulp.h"

#define TW_HIGHEST ((int32_t)((1u << (8 * sizeof(TW_Y) - ((TW_Y)-1 < 0 ? 1 : 0))) - 1u))

#if TW_XPULP
#define TW_A_STORE_RESULT(d) ".insn s 0x2b, %[store], " d ", %[bytes](%[to])\n"
#define TW_A_TWO_TOTALS TW_A_LW("%[a]", "%[from]", "4") TW_A_LW("%[b]", "%[from]", "4")
#define TW_A_TWO_BIASES TW_A_LW("%[c]", "%[bias]", "4") TW_A_LW("%[d]", "%[bias]", "4")
#define TW_A_TWO_CLIPPED TW_A_CLIP_BYTE("%[a]", "%[high]") TW_A_CLIP_BYTE("%[b]", "%[high]")
#define TW_A_TWO_STORED TW_A_STORE_RESULT("%[a]") TW_A_STORE_RESULT("%[b]")
#define TW_HALVES_LOOP(instructions, LINES)                                                                             \
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", instructions) LINES TW_A_TWO_CLIPPED TW_A_TWO_STORED TW_A_END        \
                   : [from] "+r"(from), [to] "+r"(to), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d),           \
                     [bias] "+r"(bias)                                                                                  \
                   : [pairs] "r"(pairs), [high] "r"(TW_HIGHEST), [shift] "r"(shift), [store] "i"(sizeof(TW_Y) >> 1),     \
                     [bytes] "i"(sizeof(TW_Y)), [clip] "i"((TW_Y)-1 < 0 ? TW_I_CLIP : TW_I_CLIPU)                       \
                   : "memory")

/* Two neighbours at a time. */
static inline void tw_halves_of_pairs(const int32_t *from, const int32_t *bias, int32_t shift, TW_Y *to, int32_t pairs) {
  int32_t a, b, c, d;
  if (bias) {
    TW_HALVES_LOOP(10, TW_A_TWO_TOTALS TW_A_TWO_BIASES TW_A_R(TW_E_ADDN, "%[a]", "%[c]", "%[shift]")
                           TW_A_R(TW_E_ADDN, "%[b]", "%[d]", "%[shift]"));
  } else if (shift) {
    TW_HALVES_LOOP(8, TW_A_TWO_TOTALS "sra %[a], %[a], %[shift]\nsra %[b], %[b], %[shift]\n");
  } else {
    TW_HALVES_LOOP(6, TW_A_TWO_TOTALS);
  }
}
#endif

/* `count` results of one pixel, or of all of them where they lie one after the other. */
static inline void tw_halves(const int32_t *from, const int32_t *bias, int32_t shift, TW_Y *to, int32_t count) {
#if TW_XPULP
  const int32_t even = count & ~1;
  if (even) {
    tw_halves_of_pairs(from, bias, shift, to, even >> 1);
    from += even, to += even, count -= even;
    if (bias) bias += even;
  }
#endif
  for (int32_t i = 0; i < count; i++) {
    const int32_t value = (from[i] + (bias ? bias[i] : 0)) >> shift;
    to[i] = (TW_Y)((TW_Y)-1 < 0 ? tw_x_clip(value, TW_HIGHEST) : tw_x_clipu(value, TW_HIGHEST));
  }
}

/* Where a pixel is, and with what bias. */
typedef struct {
  int32_t image, row, x;
} tw_place;

static inline tw_place tw_place_of(const tw_neureka_finished_params *p, int32_t pixel) {
  const int32_t row = (int32_t)((uint32_t)pixel / (uint32_t)p->columns), image = (int32_t)((uint32_t)row / (uint32_t)p->rows);
  const tw_place place = {image, row - image * p->rows, pixel - row * p->columns};
  return place;
}

static inline void tw_next_place(const tw_neureka_finished_params *p, tw_place *at) {
  if (++at->x < p->columns) return;
  at->x = 0;
  if (++at->row == p->rows) at->row = 0, at->image++;
}

static inline int32_t tw_edge_of(const tw_neureka_finished_params *p, const tw_place *at) {
  const int32_t right = p->over_right && at->x == p->columns - 1, bottom = p->over_bottom && at->row == p->rows - 1;
  return (right + 2 * bottom) * p->filters;
}

/* A core's share of all results. Each is the sum of `others` + 1 totals, which lie `step` bytes apart. */
static inline void tw_finish_multiplied(const tw_neureka_finished_params *p, int32_t *totals, const int32_t *bias, TW_Y *y,
                                        int32_t step, int32_t others) {
  const int is_dense = p->columns == 1 && p->source_row == p->filters && !(p->over_right | p->over_bottom);
  const int32_t all = p->images * p->rows * p->columns * p->filters, length = is_dense ? all : p->filters;
  const tw_share share = tw_share_of(all);
  const int32_t pixel = is_dense ? 0 : (int32_t)((uint32_t)share.first / (uint32_t)length);
  int32_t first = share.first - pixel * length;
  tw_place place = tw_place_of(p, pixel);
  for (int32_t at = share.first; at < share.end; first = 0) {
    const int32_t count = tw_x_min(share.end - at, length - first), edge = is_dense ? 0 : tw_edge_of(p, &place);
    const int32_t pixel_at = place.image * p->source_image + place.row * p->source_row + place.x * p->source_pixel;
    int32_t *const from = totals + pixel_at + first;
    if (others) tw_sum_run(from, step, others, count);
    tw_halves(from, edge ? bias + edge + first : 0, p->shift, y + at, count);
    tw_next_place(p, &place);
    at += count;
  }
}

#endif
