/* Names of <math.h>: OpenCL C has the functions, without the letter at the end. */
#ifndef TW_OPENCL_MATH_H
#define TW_OPENCL_MATH_H

#define INFINITY (1.0f / 0.0f)
#define NAN (0.0f / 0.0f)

int isnan(double x);
int isinf(double x);

float fabsf(float x), sqrtf(float x), floorf(float x), ceilf(float x), truncf(float x), rintf(float x), roundf(float x);
float expf(float x), expm1f(float x), logf(float x), log1pf(float x), erff(float x);
float sinf(float x), cosf(float x), tanf(float x), asinf(float x), acosf(float x), atanf(float x);
float sinhf(float x), coshf(float x), tanhf(float x), asinhf(float x), acoshf(float x), atanhf(float x);
float copysignf(float x, float sign), fmaxf(float a, float b), fminf(float a, float b), fmodf(float x, float y);
float powf(float x, float y), fmaf(float a, float b, float c);
double fabs(double x), sqrt(double x), floor(double x), ceil(double x), trunc(double x), rint(double x), exp(double x);
double log(double x), pow(double x, double y), fmod(double x, double y);

#endif
