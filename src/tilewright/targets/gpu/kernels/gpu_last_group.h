/* What groups leave for the last one of them to come: it counts how many have come (tw_one_more), and reads what others
 * have left (TW_LEFT) behind TW_EVERYBODY_SEES(). */
#ifndef TW_GPU_LAST_GROUP_H
#define TW_GPU_LAST_GROUP_H

#include "gpu.h"

#ifdef TW_GPU_DEVICE

#define TW_LEFT
TW_GPU int32_t tw_one_more(int32_t *count) {
  int32_t before;
  __asm__ volatile("atom.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(count) : "memory");
  return before;
}
#define TW_EVERYBODY_SEES() __asm__ volatile("membar.gl;" ::: "memory")

#elif defined(TW_GPU_OPENCL)

/* It is not kept in the memory of an item. */
#define TW_LEFT volatile
int32_t atomic_inc(int32_t *count);
void mem_fence(unsigned int fences);
TW_GPU int32_t tw_one_more(int32_t *count) { return atomic_inc(count); }
#define TW_EVERYBODY_SEES() mem_fence(TW_FENCES_OF_BOTH)

#else

#define TW_LEFT
TW_GPU int32_t tw_one_more(int32_t *count) { return (*count)++; }
#define TW_EVERYBODY_SEES() ((void)0)

#endif

#endif
