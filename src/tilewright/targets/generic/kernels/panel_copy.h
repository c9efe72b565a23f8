/* Rows of input elements in the form in which they are multiplied.
 * Needs TW_X, TW_PANEL (the type of that form) and TW_INTO_PANEL(x) (an element's value in it). */
#ifndef TW_PANEL_COPY_H
#define TW_PANEL_COPY_H

#include <stdint.h>

static inline void tw_panel_fill(TW_PANEL *restrict to, TW_PANEL value, int32_t count) {
  for (int32_t i = 0; i < count; i++) to[i] = value;
}

static inline void tw_panel_copy(TW_PANEL *restrict to, const TW_X *restrict from, int32_t step, int32_t count) {
  if (step == 1) {
    for (int32_t i = 0; i < count; i++) to[i] = TW_INTO_PANEL(from[i]);
  } else if (step == 2) {
    for (int32_t i = 0; i < count; i++) to[i] = TW_INTO_PANEL(from[2 * i]);
  } else {
    for (int32_t i = 0; i < count; i++) to[i] = TW_INTO_PANEL(from[i * step]);
  }
}

#endif
