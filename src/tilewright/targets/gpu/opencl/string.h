/* What kernels need of <string.h>, for any two memories. */
#ifndef TW_OPENCL_STRING_H
#define TW_OPENCL_STRING_H

#include <stddef.h>

static inline void memcpy(void *to, const void *from, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
}

#endif
