/* Whether an element is not a number: never so for integers, where compilers frown on comparing x with itself. */
#ifndef TW_NAN_H
#define TW_NAN_H

#if TW_X_IS_FLOAT
#define TW_IS_NAN(x) ((x) != (x))
#else
#define TW_IS_NAN(x) 0
#endif

#endif
