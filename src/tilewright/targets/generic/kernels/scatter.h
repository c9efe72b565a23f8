/* What kernels that scatter share: how an update joins what is there. */
#ifndef TW_SCATTER_H
#define TW_SCATTER_H

#include "nan.h"
#include "wrapping.h"

enum { TW_REPLACE, TW_ADD, TW_MULTIPLY, TW_LARGEST, TW_SMALLEST };

static inline TW_Y tw_joined(TW_Y old, TW_X update, int32_t reduction) {
  switch (reduction) {
    case TW_ADD: return (TW_Y)(TW_WRAP(old) + TW_WRAP(update));
    case TW_MULTIPLY: return (TW_Y)(TW_WRAP(old) * TW_WRAP(update));
    case TW_LARGEST: return update > old || TW_IS_NAN(update) ? update : old;
    case TW_SMALLEST: return update < old || TW_IS_NAN(update) ? update : old;
    default: return update;
  }
}

#endif
