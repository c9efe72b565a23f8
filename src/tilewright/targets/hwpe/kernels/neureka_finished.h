/* Parameters of kernels that finish what N-EUREKA has left in its scratch memory: totals of all filters for each pixel, or
 * results of more pixels than are wanted. */
#ifndef TW_NEUREKA_FINISHED_H
#define TW_NEUREKA_FINISHED_H

#include "neureka.h"
#include "requant.h"

/* How a result is made from a total, which has its bias (of bare totals, when it was shifted to the left and added):
 * TW_FINISH_COPY: there are results already.
 * TW_FINISH_PLAIN: it is the total.
 * TW_FINISH_HIGH: (the high word of total * mul, + summand) >> shift.
 * TW_FINISH_NARROW: (total, not farther from 0 than bound, * mul + add) >> shift, all in 32 bits.
 * TW_FINISH_EXACT: as requant.h does it.
 * TW_FINISH_SCALED: one of TensorFlow Lite's roundings; totals are 4 times as large. With s = -add, it is (the high word
 *   of total * mul, less `bound` if the total is negative, + summand + shift * 2^s) >> (s + 1).
 * TW_FINISH_TOP: the top byte of total * (mul >> shift) + 2^23, with totals not farther from 0 than `add`; then `low` + 128
 *   is added. There is nothing to clip.
 * TW_FINISH_TIES: as TW_FINISH_HIGH; ties, of which the low word of total * mul is 0, go to the even neighbour.
 * TW_FINISH_MULTIPLIED: the total, which is multiplied already, >> shift, clipped to 16 bits; where windows are in parts, also to 8.
 * Where it is not exact, what comes out is clipped to 0 and `top`; then `low` is added. */
enum {
  TW_FINISH_COPY,
  TW_FINISH_PLAIN,
  TW_FINISH_HIGH,
  TW_FINISH_NARROW,
  TW_FINISH_EXACT,
  TW_FINISH_SCALED,
  TW_FINISH_TOP,
  TW_FINISH_TIES,
  TW_FINISH_MULTIPLIED
};

/* Never so in a network's kernels without such roundings. */
#ifdef TW_HAS_EXPONENTS
#define TW_IS_SCALED(p) (TW_HAS_EXPONENTS && (p)->mode == TW_FINISH_SCALED)
#else
#define TW_IS_SCALED(p) ((p)->mode == TW_FINISH_SCALED)
#endif

typedef struct {
  tw_neureka_params start;
  int32_t images, rows, columns, filters;         /* of the result; rows of one image */
  int32_t source_image, source_row, source_pixel; /* from one to the next in the working memory, in elements */
  int32_t over_bottom, over_right;                /* whether the last rows and columns have a bias besides */
  int32_t ones;                                   /* from the first bias to scales that are all 1, in words */
  int32_t bare;                                   /* whether totals, of one pixel, come without their bias, */
  int32_t up;                                     /* and by how many bits they are to be larger before */
  int32_t mode;
  int32_t shift, summand, bound, low, top;
  tw_requant requant;
} tw_neureka_finished_params;

/* Whether N-EUREKA multiplies with the layer's scales, and not with those that are 1. */
static inline int tw_neureka_multiplies(const tw_neureka_finished_params *p) {
  return p->mode == TW_FINISH_COPY || p->mode == TW_FINISH_MULTIPLIED;
}

/* Results or totals into the working memory; totals get their bias on the way. */
static inline void tw_neureka_start_finished(const tw_neureka_finished_params *p, const void *x, const void *w,
                                             const void *scale, const int32_t *bias, void *scratch) {
  tw_neureka_start(&p->start, x, w, tw_neureka_multiplies(p) ? scale : bias + p->ones, bias, scratch);
}

#endif
