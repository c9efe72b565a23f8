/* memcpy and the like: a compiler needs them to link in any case, but without a C library it may lack their header. */
#ifndef TW_BYTES_H
#define TW_BYTES_H

#if defined(__has_include)
#if !__has_include(<string.h>)
#define TW_NO_STRING_H
#endif
#endif

#ifndef TW_NO_STRING_H
#include <string.h>
#else
#include <stddef.h>
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
#endif

#endif
