/* Floats of each row as bytes from -127 to 127 by their largest size, of which a 127th is the scale; ties go away from 0. */
#include "symmetric_range.h"

#include "rounded.h"

#ifndef TW_NAME
#define TW_NAME tw_symmetric_range
#endif

enum { AT_ONCE = 4, ELEMENTS = AT_ONCE * TW_LANES };

typedef int32_t wholes __attribute__((vector_size(AT_ONCE * TW_VECTOR_BYTES)));
typedef int8_t bytes __attribute__((vector_size(ELEMENTS)));

TW_INLINE tw_vector size_of(tw_vector x) { return (tw_vector)((tw_vector_bits)x & 0x7fffffff); }

/* NaN if there is one. Vectors do not wait for each other. */
static float largest_size(const float *x, int32_t count, float least) {
  tw_vector most[AT_ONCE];
  int32_t i = 0;
  for (int v = 0; v < AT_ONCE; v++) most[v] = tw_all(least);
  for (; i + ELEMENTS <= count; i += ELEMENTS) {
    TW_UNROLL for (int v = 0; v < AT_ONCE; v++) most[v] = tw_larger(size_of(tw_load(x + i + v * TW_LANES)), most[v]);
  }
  for (; i < count; i++) most[0] = tw_larger(size_of(tw_all(x[i])), most[0]);
  for (int v = 1; v < AT_ONCE; v++) most[0] = tw_larger(most[v], most[0]);
  float found = least;
  for (int lane = 0; lane < TW_LANES; lane++) {
    const float size = most[0][lane];
    found = size > found || size != size ? size : found;
  }
  return found;
}

/* Half of one with the sign of the product is added, and the fraction cut off. What is not a number becomes one whose
 * last byte is 0: that is not so on RISC-V by itself. */
TW_INLINE tw_vector_bits whole(tw_vector x, tw_vector factor) {
  tw_vector product = tw_rounded(x * factor), half = tw_all(0.5f);
#if defined(__riscv)
  product = tw_select(product == product, product, tw_all(0.0f));
#endif
  return __builtin_convertvector(product + (tw_vector)((tw_vector_bits)half | ((tw_vector_bits)product & INT32_MIN)),
                                 tw_vector_bits);
}

static void quantise(const float *x, int8_t *y, int32_t count, float inverse) {
  const tw_vector factor = tw_all(inverse);
  int32_t i = 0;
  for (; i + ELEMENTS <= count; i += ELEMENTS) {
    tw_vector_bits part[AT_ONCE];
    wholes all;
    TW_UNROLL for (int v = 0; v < AT_ONCE; v++) part[v] = whole(tw_load(x + i + v * TW_LANES), factor);
    memcpy(&all, part, sizeof all);
    const bytes made = __builtin_convertvector(all, bytes);
    memcpy(y + i, &made, sizeof made);
  }
  for (; i < count; i++) y[i] = (int8_t)whole(tw_all(x[i]), factor)[0];
}

void TW_NAME(const tw_symmetric_range_params *params, const float *x, int8_t *y, float *scale) {
  const int32_t count = params->count;
  for (int32_t row = 0; row < params->rows; row++, x += count, y += count) {
    const float most = largest_size(x, count, params->least);
    scale[row] = most / 127.0f;
    quantise(x, y, count, 127.0f / most);
  }
}
