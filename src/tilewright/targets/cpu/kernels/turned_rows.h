/* Rows side by side as a panel: squares of four by four are turned in registers. */
#ifndef TW_TURNED_ROWS_H
#define TW_TURNED_ROWS_H

#include "lanes.h"
#include "panels.h"

/* The first elements of TW_PANEL rows that are `step` apart, element after element; how many of each row that were. */
static inline int32_t tw_turn_rows(const float *rows, int64_t step, int32_t length, float *panel) {
  int32_t d = 0;
  for (; d + 4 <= length; d += 4) {
    for (int32_t j = 0; j < TW_PANEL; j += 4) {
      const float *const from = rows + j * step + d;
      tw_fourth x[4];
      TW_UNROLL for (int r = 0; r < 4; r++) memcpy(&x[r], from + r * step, sizeof x[r]);
      TW_UNROLL for (int i = 0; i < 4; i++) {
        const tw_fourth turned = {x[0][i], x[1][i], x[2][i], x[3][i]};
        memcpy(panel + (d + i) * TW_PANEL + j, &turned, sizeof turned);
      }
    }
  }
  return d;
}

#endif
