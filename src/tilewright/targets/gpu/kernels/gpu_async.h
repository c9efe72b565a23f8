/* Copies into shared memory that go on while a group computes: they have arrived after tw_copies_pending(groups that
 * may still be on their way) and a TW_MEET. Where there are no such instructions, they are done at once. */
#ifndef TW_GPU_ASYNC_H
#define TW_GPU_ASYNC_H

#include "gpu.h"
#include "gpu_unroll.h"

/* Words that stand for anything. */
typedef uint32_t __attribute__((may_alias)) tw_word;

#if defined(TW_GPU_DEVICE) && __CUDA_ARCH__ >= 800
#define TW_IS_ASYNC 1

TW_GPU uint32_t tw_local_address(const TW_LOCAL void *p) { return (uint32_t)(uintptr_t)p; }

/* 16, 8 or 4 bytes; zeros where they are not `valid`. */
TW_GPU void tw_copy_16(TW_LOCAL void *to, const void *from, int32_t valid) {
  __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(tw_local_address(to)), "l"(from),
                   "r"(valid ? 16 : 0)
                   : "memory");
}

TW_GPU void tw_copy_8(TW_LOCAL void *to, const void *from, int32_t valid) {
  __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(tw_local_address(to)), "l"(from),
                   "r"(valid ? 8 : 0)
                   : "memory");
}

TW_GPU void tw_copy_4(TW_LOCAL void *to, const void *from, int32_t valid) {
  __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(tw_local_address(to)), "l"(from),
                   "r"(valid ? 4 : 0)
                   : "memory");
}

/* Asks for the line of memory that a place is in, to be near when it is read; no more depends on that. */
TW_GPU void tw_ask_for(const void *place) { __asm__ volatile("prefetch.global.L2 [%0];" ::"l"(place)); }

#define tw_copies_commit() __asm__ volatile("cp.async.commit_group;" ::: "memory")
#define tw_copies_pending(GROUPS) __asm__ volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory")

#else
#define TW_IS_ASYNC 0

/* Its words may be anything too: compilers go by them where they copy a struct. */
typedef struct {
  tw_word at[4];
} __attribute__((aligned(16), may_alias)) tw_four_words;

TW_GPU void tw_copy_16(TW_LOCAL void *to, const void *from, int32_t valid) {
  const tw_four_words none = {{0, 0, 0, 0}};
  if (valid) {
    *(TW_LOCAL tw_four_words *)to = *(const tw_four_words *)from;
  } else {
    *(TW_LOCAL tw_four_words *)to = none;
  }
}

TW_GPU void tw_copy_8(TW_LOCAL void *to, const void *from, int32_t valid) {
  TW_UNROLL for (int32_t i = 0; i < 2; i++) ((TW_LOCAL tw_word *)to)[i] = valid ? ((const tw_word *)from)[i] : 0;
}

TW_GPU void tw_copy_4(TW_LOCAL void *to, const void *from, int32_t valid) {
  *(TW_LOCAL tw_word *)to = valid ? *(const tw_word *)from : 0;
}

TW_GPU void tw_ask_for(const void *place) { (void)place; }

#define tw_copies_commit() ((void)0)
#define tw_copies_pending(GROUPS) ((void)0)

#endif

#endif
