/* What OpenCL C has without an include, for a compiler that comes without the header that says so. */
typedef unsigned char uchar;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef uint cl_mem_fence_flags;
