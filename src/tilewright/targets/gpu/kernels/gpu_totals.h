/* The type in which products are summed: total_t. Integers wrap around. */
#ifndef TW_GPU_TOTALS_H
#define TW_GPU_TOTALS_H

#include <stdint.h>

#ifdef TW_A_IS_FLOAT
#define TW_TOTALS_ARE_FLOAT TW_A_IS_FLOAT
#else
#define TW_TOTALS_ARE_FLOAT TW_X_IS_FLOAT
#endif

#if TW_TOTALS_ARE_FLOAT
typedef float total_t;
#define TW_CENTRED(x, zero) (x)
#elif defined(TW_TOTALS_ARE_WIDE)
typedef uint64_t total_t;
#define TW_CENTRED(x, zero) ((uint64_t)(x) - (uint64_t)(zero))
#else
typedef uint32_t total_t;
#define TW_CENTRED(x, zero) ((uint32_t)(x) - (uint32_t)(zero))
#endif

#endif
