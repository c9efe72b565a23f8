/* The larger ones of four pairs of bytes of TW_X, by the instruction that there is: it may be that of the other signs. */
#ifndef TW_LARGER_BYTES_H
#define TW_LARGER_BYTES_H

#include "patterns.h"

#define TW_OTHER_SIGNS 0x80808080u

#define TW_LARGER4(a, b)                                                                                                \
  ((TW_X)-1 < 0 ? TW_HAS_MAX4_S8 || !TW_HAS_MAX4_U8 ? TW_MAX4_S8(a, b)                                                  \
                                                    : TW_MAX4_U8((a) ^ TW_OTHER_SIGNS, (b) ^ TW_OTHER_SIGNS) ^ TW_OTHER_SIGNS \
   : TW_HAS_MAX4_U8 || !TW_HAS_MAX4_S8 ? TW_MAX4_U8(a, b)                                                               \
                                       : TW_MAX4_S8((a) ^ TW_OTHER_SIGNS, (b) ^ TW_OTHER_SIGNS) ^ TW_OTHER_SIGNS)

/* Bytes as words. */
typedef uint32_t __attribute__((may_alias)) tw_word;

#endif
