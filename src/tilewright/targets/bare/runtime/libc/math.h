/* The part of math.h that kernels use, for compilers that come without a C library. */
#ifndef TW_MATH_H
#define TW_MATH_H

#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#define HUGE_VALF __builtin_inff()
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)

/* Single instructions. */
#define sqrtf(x) __builtin_sqrtf(x)
#define fabsf(x) __builtin_fabsf(x)
#define copysignf(x, sign) __builtin_copysignf(x, sign)
#define fminf(x, y) __builtin_fminf(x, y)
#define fmaxf(x, y) __builtin_fmaxf(x, y)
#define fabs(x) __builtin_fabs(x)

/* In the compiler's own library. */
float expf(float x);
float exp2f(float x);
float logf(float x);
float log2f(float x);
float sinf(float x);
float cosf(float x);
float tanf(float x);
float floorf(float x);
float ceilf(float x);
float roundf(float x);
float truncf(float x);
float fmodf(float x, float y);
double exp(double x);
double log(double x);
double sqrt(double x);
double floor(double x);
double ceil(double x);
double round(double x);
double trunc(double x);

/* In math.c. */
float rintf(float x);
float expm1f(float x);
float log1pf(float x);
float powf(float x, float y);
float tanhf(float x);
float sinhf(float x);
float coshf(float x);
float asinf(float x);
float acosf(float x);
float atanf(float x);
float asinhf(float x);
float acoshf(float x);
float atanhf(float x);
float erff(float x);
double pow(double x, double y);
double tanh(double x);

#endif
