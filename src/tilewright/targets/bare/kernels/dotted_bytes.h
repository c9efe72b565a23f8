/* Products of four bytes of TW_X with four weights, by the instruction that there is. */
#ifndef TW_DOTTED_BYTES_H
#define TW_DOTTED_BYTES_H

#include "patterns.h"

/* Bytes are multiplied as those that the instruction takes, with 128 less or more where they are others: what begins a total has the
 * rest. The same is said in dots.py. */
#define TW_X_IS_SIGNED ((TW_X)-1 < 0)
#define TW_DOTS_ARE_SIGNED (TW_X_IS_SIGNED ? TW_HAS_DOT4_S8 || !TW_HAS_DOT4_U8S8 : !TW_HAS_DOT4_U8S8)
#define TW_AS_DOTTED(x) ((int8_t)((x) ^ (TW_X_IS_SIGNED == TW_DOTS_ARE_SIGNED ? 0 : 128)))
enum { TW_MORE = TW_X_IS_SIGNED == TW_DOTS_ARE_SIGNED ? 0 : TW_X_IS_SIGNED ? -128 : 128 }; /* what bytes have more than those */
#define TW_DOT4(total, w, x) (TW_DOTS_ARE_SIGNED ? TW_DOT4_S8(total, w, x) : TW_DOT4_U8S8(total, x, w))

#endif
