/* y = where along an axis the largest x is; what is not a number counts as that */
#include "alone.h"
#include "extreme.h"
#include "nan.h"

static inline int better(TW_X x, TW_X than) { return x > than || (TW_IS_NAN(x) && !TW_IS_NAN(than)); }

#include "extreme_loops.h"
