/* OpenCL C has these types itself: they are known to the compiler that reads a kernel before. */
#ifndef TW_OPENCL_STDDEF_H
#define TW_OPENCL_STDDEF_H

typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;

#define NULL ((void *)0)

#endif
