/* The part of string.h that kernels use; the compiler's own library has the functions. */
#ifndef TW_STRING_H
#define TW_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

#endif
