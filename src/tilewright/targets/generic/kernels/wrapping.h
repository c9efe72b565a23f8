/* Arithmetic that wraps around on integers: TW_WRAP(a) + TW_WRAP(b), converted to TW_Y. Unsigned, because signed
 * overflow is undefined in C; compilers narrow it back to the width of TW_Y. */
#ifndef TW_WRAPPING_H
#define TW_WRAPPING_H

#include <stdint.h>

#if TW_Y_IS_FLOAT
#define TW_WRAP(x) ((float)(x))
#else
#define TW_WRAP(x) ((uint64_t)(x))
#endif

/* Whether TW_Y has negative numbers. */
#define TW_Y_IS_SIGNED ((TW_Y)-1 < (TW_Y)1)

#endif
