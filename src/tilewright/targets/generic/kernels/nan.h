/* Whether a number is none, and whether it is below another one, which it never is then. Integers always are numbers;
 * compilers frown on comparing these with themselves. */
#ifndef TW_NAN_H
#define TW_NAN_H

static inline int tw_is_nan(float x) { return x != x; }
static inline int tw_is_below(float x, float limit) { return x < limit; }

#if TW_X_IS_FLOAT || TW_A_IS_FLOAT
#define TW_IS_NAN(x) ((x) != (x))
#else
#define TW_IS_NAN(x) 0
#endif

#endif
