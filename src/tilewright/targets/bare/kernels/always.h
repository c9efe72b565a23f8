/* Functions that are part of their callers whatever the compiler thinks: registers live across them. */
#ifndef TW_ALWAYS_H
#define TW_ALWAYS_H

#define TW_ALWAYS static inline __attribute__((always_inline))

#endif
