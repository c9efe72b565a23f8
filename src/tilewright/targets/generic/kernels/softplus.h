#ifndef TW_SOFTPLUS_H
#define TW_SOFTPLUS_H

#include <math.h>

/* log(1 + e^x), written so that e^x cannot overflow. */
static inline float tw_softplus(float x) { return (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x))); }

#endif
