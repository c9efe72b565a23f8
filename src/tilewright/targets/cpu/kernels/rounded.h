/* A product is rounded before anything is added to it, as if it were stored in between. */
#ifndef TW_ROUNDED_H
#define TW_ROUNDED_H

#include "vectors.h"

#if defined(__aarch64__) && TW_VECTOR_BYTES == 16
#define TW_ROUNDED(vector) __asm__("" : "+w"(vector))
#elif defined(__x86_64__) && (TW_VECTOR_BYTES == 16 || (TW_VECTOR_BYTES == 32 && defined(__AVX__)) || defined(__AVX512F__))
#define TW_ROUNDED(vector) __asm__("" : "+x"(vector))
#else
#define TW_ROUNDED(vector) __asm__("" : "+m"(vector))
#endif

TW_INLINE tw_vector tw_rounded(tw_vector product) {
  TW_ROUNDED(product);
  return product;
}

#endif
