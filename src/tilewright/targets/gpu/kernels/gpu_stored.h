/* How elements of operands are read and written: TW_X_LOAD(x[i]) is what is computed with, of type TW_X_VALUE, and
 * y[i] = TW_Y_STORE(value). Floats of 16 bits are stored as their bits and computed as float; what else there is, as it
 * is. A kernel that is compiled for 16 bits finds LOAD, STORE and IS_HALF of such operands defined (`half.h`). */
#ifndef TW_GPU_STORED_H
#define TW_GPU_STORED_H

#include "half.h"

#if TW_X_IS_HALF
#define TW_X_VALUE float
#else
#define TW_X_VALUE TW_X
#define TW_X_LOAD(element) (element)
#endif

#if TW_W_IS_HALF
#define TW_W_VALUE float
#else
#define TW_W_VALUE TW_W
#define TW_W_LOAD(element) (element)
#endif

#if TW_A_IS_HALF
#define TW_A_VALUE float
#else
#define TW_A_VALUE TW_A
#define TW_A_LOAD(element) (element)
#endif

#if TW_B_IS_HALF
#define TW_B_VALUE float
#else
#define TW_B_VALUE TW_B
#define TW_B_LOAD(element) (element)
#endif

#if TW_C_IS_HALF
#define TW_C_VALUE float
#else
#define TW_C_VALUE TW_C
#define TW_C_LOAD(element) (element)
#endif

#if TW_R_IS_HALF
#define TW_R_VALUE float
#else
#define TW_R_VALUE TW_R
#define TW_R_LOAD(element) (element)
#endif

#if TW_Y_IS_HALF
#define TW_Y_VALUE float
#else
#define TW_Y_VALUE TW_Y
#define TW_Y_STORE(value) (value)
#endif

#endif
