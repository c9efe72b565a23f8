/* The functions that code for a GPU has instead of a C library, on this machine. */
#define __nvvm_sqrt_rn_f __builtin_sqrtf
#define __nvvm_sqrt_rn_d __builtin_sqrt
#define TW_GPU_HOST
#include <math.h>

#include "gpu_float_parts.h"

#define FUNCTION(NAME) \
  void check_##NAME(int count, const float *x, float *y) { for (int i = 0; i < count; i++) y[i] = NAME(x[i]); }

FUNCTION(expf) FUNCTION(expm1f) FUNCTION(logf) FUNCTION(log1pf) FUNCTION(sinf) FUNCTION(cosf) FUNCTION(tanf)
FUNCTION(asinf) FUNCTION(acosf) FUNCTION(atanf) FUNCTION(sinhf) FUNCTION(coshf) FUNCTION(tanhf) FUNCTION(asinhf)
FUNCTION(acoshf) FUNCTION(atanhf) FUNCTION(erff) FUNCTION(sqrtf) FUNCTION(floorf) FUNCTION(ceilf) FUNCTION(rintf)
FUNCTION(roundf)

void check_powf(int count, const float *x, const float *other, float *y) {
  for (int i = 0; i < count; i++) y[i] = powf(x[i], other[i]);
}
void check_fmodf(int count, const float *x, const float *other, float *y) {
  for (int i = 0; i < count; i++) y[i] = fmodf(x[i], other[i]);
}

void check_parts(int count, const float *x, float *large, float *small) {
  for (int i = 0; i < count; i++) {
    const uint32_t bits = tw_bits_of(x[i]), part = tw_large_part(bits);
    large[i] = tw_float_of(part);
    small[i] = tw_float_of(tw_small_part(bits, part));
  }
}
