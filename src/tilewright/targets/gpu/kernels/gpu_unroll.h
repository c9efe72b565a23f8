/* Before a loop whose arrays are registers on a GPU. */
#ifndef TW_GPU_UNROLL_H
#define TW_GPU_UNROLL_H

#ifdef TW_GPU_DEVICE
#define TW_UNROLL _Pragma("unroll")
#else
#define TW_UNROLL
#endif

#endif
