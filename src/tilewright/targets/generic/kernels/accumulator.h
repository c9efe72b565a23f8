/* The type in which sums and products of elements are taken: acc_t. Integers wrap around, and 64 bits hold whatever of
 * the result's width matters. The accumulator itself is unsigned: GCC 12 miscompiles (-O3 -mavx2) an array of signed
 * ones that each step converts to unsigned and back. */
#ifndef TW_ACCUMULATOR_H
#define TW_ACCUMULATOR_H

#include <stdint.h>

#if TW_X_IS_FLOAT
typedef float acc_t;
#else
typedef uint64_t acc_t;
#endif

#endif
