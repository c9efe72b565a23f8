/* TW_UNROLL: before a loop whose arrays are registers on a GPU. TW_UNROLL_BY: before one that is to have so many loads
 * under way. */
#ifndef TW_GPU_UNROLL_H
#define TW_GPU_UNROLL_H

#ifdef TW_GPU_DEVICE
#define TW_UNROLL _Pragma("unroll")
#define TW_PRAGMA(TEXT) _Pragma(#TEXT)
#define TW_UNROLL_BY(N) TW_PRAGMA(unroll N)
#else
#define TW_UNROLL
#define TW_UNROLL_BY(N)
#endif

#endif
