/* As itamax.c, but a row arrives in groups: maximum and sum are corrected when a group raises the maximum. */
#include "itapartialmax.h"

#include "halvings.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_itapartialmax_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

void TW_NAME(const tw_itapartialmax_params *params, const TW_X *x, TW_Y *y) {
  const int32_t rows = params->rows, length = params->length, top = params->top, width = params->group_width;
  for (int32_t row = 0; row < rows; row++, x += length, y += length) {
    int32_t largest = -128, total = 0;
    for (int32_t start = 0; start < length;) {
      const int32_t stop = length - start > width ? start + width : length;
      int32_t raised = largest;
      for (int32_t i = start; i < stop; i++) raised = tw_max(raised, x[i]);
      total >>= tw_halvings(raised, largest);
      for (int32_t i = start; i < stop; i++) total += 256 >> tw_halvings(raised, x[i]);
      largest = raised;
      start = stop;
    }
    const int32_t share = top * 256 / tw_max(total, 1);
    for (int32_t i = 0; i < length; i++) {
      const int32_t part = share >> tw_halvings(largest, x[i]);
      y[i] = (TW_Y)(params->requantised ? tw_scale(&params->out, part) : part);
    }
  }
}
