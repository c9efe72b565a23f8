/* What a requantisation is: requant.h computes it. */
#ifndef TW_REQUANT_DATA_H
#define TW_REQUANT_DATA_H

#include <stdint.h>

/* TW_HALF_UP: ties round up; TW_HALF_EVEN: to the even neighbour; TW_HALF_AWAY: away from zero.
 * TW_NATIVE: ties round up, and 32 bits hold x * mul + add + half + zero_point * 2^shift whatever x is here.
 * TW_DOUBLE: the product is rounded to 32 bits (ties up), then by the power of two (ties away from zero).
 * TW_DOUBLE_UP: the same, ties up both times. TW_SINGLE: rounded once, ties up.
 * TW_FLOAT: the product of two floats, ties to even; mul holds the bits of one. */
enum { TW_HALF_UP, TW_HALF_EVEN, TW_HALF_AWAY, TW_NATIVE, TW_DOUBLE, TW_DOUBLE_UP, TW_SINGLE, TW_FLOAT };

/* A network has its kernels for the one kind of rounding or for the other. */
#ifdef TW_HAS_EXPONENTS
#define TW_IS_TFLITE(r) TW_HAS_EXPONENTS
#else
#define TW_IS_TFLITE(r) ((r)->rounding >= TW_DOUBLE)
#endif

typedef struct {
  int32_t shift;
  int32_t rounding;
  int32_t zero_point;
  int32_t low;
  int32_t high;
  int32_t channels; /* how many values mul and add have: 1, or one per channel */
} tw_requant;

#endif
