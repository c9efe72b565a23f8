/* How a kernel for a GPU is written, once for four builds:
 *   TW_GPU_DEVICE  code for NVIDIA's GPUs: an entry that their driver launches
 *   TW_GPU_OPENCL  what OpenCL C is made of, by a compiler that finds out which memory every pointer points into
 *   TW_GPU_HOST    a C function of this machine: groups and their items are loops
 *   none of them   the C function that launches that code
 * Of the first two, TW_GPU_CODE is defined.
 *
 * A kernel has three parts: `grid`, how many groups its parameters ask for; `group`, what one group of TW_GROUP_SIZE
 * items does; and TW_GPU_KERNEL(parameter struct, (declarations of all pointers), (their names)).
 * Inside of `group`, TW_ITEMS(t) { ... } is done by every item once; all meet at TW_MEET(), which stands between such
 * blocks. What a group shares is TW_GROUP_SHARED at file scope, up to 48 KiB; one array of TW_DYNAMIC_BYTES that is
 * larger, TW_GROUP_DYNAMIC; what an item keeps from block to block, TW_ITEM_OWN. TW_UNSET follows a variable that is
 * written before it is read, which GCC cannot tell: it is zero on this machine, and costs nothing elsewhere.
 * On newer GPUs a launch may begin while the one before ends, from TW_LET_OTHERS() on in all of its groups;
 * TW_AFTER_OTHERS() waits until that one has ended. Both are the first that a group does; or stand in `group` itself where
 * TW_WAITS_ITSELF is defined. Before TW_AFTER_OTHERS() nothing is written, and nothing read but constants: bit i of
 * TW_EARLY says that pointer i is read there.
 * Where TW_GROUPS_AT_ONCE is defined, items have as many registers as let so many groups run on a multiprocessor: NVIDIA's
 * compiler weighs otherwise how many groups find room, and may keep a few bytes in memory for one more.
 * Groups of one place in x and y, up to TW_MOST_CLUSTERED along z, are a cluster where TW_CLUSTERED is defined and the GPU
 * has clusters. */
#ifndef TW_GPU_H
#define TW_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifndef TW_GROUP_SIZE
#define TW_GROUP_SIZE 256
#endif

#ifndef TW_DYNAMIC_BYTES
#define TW_DYNAMIC_BYTES 0
#endif
#ifndef TW_CLUSTERED
#define TW_CLUSTERED 0
#endif
#ifndef TW_EARLY
#define TW_EARLY 0
#endif
#ifndef TW_GROUPS_AT_ONCE
#define TW_GROUPS_AT_ONCE 0
#endif

/* How many groups there are. */
typedef struct {
  int32_t x, y, z;
} tw_grid;

/* So many groups that there is an item for each of `count`. */
static inline tw_grid tw_items(int64_t count) {
  const tw_grid grid = {(int32_t)((count + TW_GROUP_SIZE - 1) / TW_GROUP_SIZE), 1, 1};
  return grid;
}

#define TW_SPREAD(...) __VA_ARGS__
#define TW_GPU static inline __attribute__((unused, always_inline))

#if defined(TW_GPU_DEVICE) || defined(TW_GPU_OPENCL)

#define TW_GPU_CODE
#define TW_LOCAL __attribute__((address_space(3)))
#define TW_GROUP_SHARED(TYPE, NAME, SIZES) static TW_LOCAL TYPE NAME SIZES
#define TW_ITEM_OWN(TYPE, NAME, SIZES) TYPE NAME[1] SIZES
#define TW_UNSET
#define TW_OWN(t) 0
#define TW_GPU_KERNEL(PARAMS, DECLARED, NAMES) TW_GPU_PART(PARAMS, DECLARED, NAMES)

#endif

#ifdef TW_GPU_DEVICE

#define TW_GROUP_X ((int32_t)__nvvm_read_ptx_sreg_ctaid_x())
#define TW_GROUP_Y ((int32_t)__nvvm_read_ptx_sreg_ctaid_y())
#define TW_GROUP_Z ((int32_t)__nvvm_read_ptx_sreg_ctaid_z())
#define TW_GROUPS_X ((int32_t)__nvvm_read_ptx_sreg_nctaid_x())
#define TW_ITEMS(t) for (int32_t t = (int32_t)__nvvm_read_ptx_sreg_tid_x(), once_##t = 1; once_##t; once_##t = 0)
#define TW_MEET() __syncthreads()
#define TW_GROUP_DYNAMIC(TYPE, NAME) extern TW_LOCAL TYPE NAME[] __attribute__((aligned(1024)))
/* Lines with instructions of clusters and of launches that depend on others are left out for GPUs before 9.0. */
#define TW_LET_OTHERS() __asm__ volatile("griddepcontrol.launch_dependents;" ::: "memory")
#define TW_AFTER_OTHERS() __asm__ volatile("griddepcontrol.wait;" ::: "memory")
#ifdef TW_WAITS_ITSELF
#define TW_FIRST() ((void)0)
#else
#define TW_FIRST()  \
  TW_LET_OTHERS();  \
  TW_AFTER_OTHERS()
#endif
#define TW_GPU_PART(PARAMS, DECLARED, NAMES)                                              \
  const int32_t tw_items_of_group = TW_GROUP_SIZE;                                        \
  const int32_t tw_groups_at_once = TW_GROUPS_AT_ONCE;                                    \
  __attribute__((nvptx_kernel)) void tw_kernel(const PARAMS params, TW_SPREAD DECLARED) { \
    TW_FIRST();                                                                           \
    group(&params, TW_SPREAD NAMES);                                                      \
  }

#elif defined(TW_GPU_OPENCL)

size_t get_group_id(unsigned int axis), get_num_groups(unsigned int axis), get_local_id(unsigned int axis);
void barrier(unsigned int fences);

enum { TW_ITEMS_OF_GROUP = TW_GROUP_SIZE, TW_FENCES_OF_BOTH = 3 };

#define TW_GROUP_X ((int32_t)get_group_id(0))
#define TW_GROUP_Y ((int32_t)get_group_id(1))
#define TW_GROUP_Z ((int32_t)get_group_id(2))
#define TW_GROUPS_X ((int32_t)get_num_groups(0))
#define TW_ITEMS(t) for (int32_t t = (int32_t)get_local_id(0), once_##t = 1; once_##t; once_##t = 0)
#define TW_MEET() barrier(TW_FENCES_OF_BOTH)
#define TW_GROUP_DYNAMIC(TYPE, NAME) static TW_LOCAL TYPE NAME[TW_DYNAMIC_BYTES / sizeof(TYPE)]
#define TW_LET_OTHERS() ((void)0)
#define TW_AFTER_OTHERS() ((void)0)
#define TW_GPU_PART(PARAMS, DECLARED, NAMES) \
  void tw_kernel(const PARAMS params, TW_SPREAD DECLARED) { group(&params, TW_SPREAD NAMES); }

#else

static tw_grid tw_group_at, tw_groups;
#define TW_LOCAL
#define TW_GROUP_X tw_group_at.x
#define TW_GROUP_Y tw_group_at.y
#define TW_GROUP_Z tw_group_at.z
#define TW_GROUPS_X tw_groups.x
#define TW_ITEMS(t) for (int32_t t = 0; t < TW_GROUP_SIZE; t++)
#define TW_MEET() ((void)0)
#define TW_GROUP_SHARED(TYPE, NAME, SIZES) static TYPE NAME SIZES
#define TW_GROUP_DYNAMIC(TYPE, NAME) static TYPE NAME[TW_DYNAMIC_BYTES / sizeof(TYPE)]
#define TW_UNSET = {0}
#define TW_ITEM_OWN(TYPE, NAME, SIZES) TYPE NAME[TW_GROUP_SIZE] SIZES
#define TW_OWN(t) (t)
#define TW_LET_OTHERS() ((void)0)
#define TW_AFTER_OTHERS() ((void)0)

#ifdef TW_GPU_HOST

#define TW_GPU_CALLED(LINKAGE, NAME, PARAMS, DECLARED, NAMES)                        \
  LINKAGE void NAME(const PARAMS *params, TW_SPREAD DECLARED) {                      \
    tw_groups = grid(params);                                                        \
    for (tw_group_at.z = 0; tw_group_at.z < tw_groups.z; tw_group_at.z++) {          \
      for (tw_group_at.y = 0; tw_group_at.y < tw_groups.y; tw_group_at.y++) {        \
        for (tw_group_at.x = 0; tw_group_at.x < tw_groups.x; tw_group_at.x++) {      \
          group(params, TW_SPREAD NAMES);                                            \
        }                                                                            \
      }                                                                              \
    }                                                                                \
  }

#else

#include "gpu_runtime.h"

#define TW_GPU_CALLED(LINKAGE, NAME, PARAMS, DECLARED, NAMES)                                          \
  extern tw_gpu_code TW_GPU_CODE_OF(TW_NAME);                                                              \
  LINKAGE void NAME(const PARAMS *params, TW_SPREAD DECLARED) {                                        \
    const void *const pointers[] = {TW_SPREAD NAMES};                                                  \
    const tw_grid groups = grid(params);                                                               \
    (void)tw_group_at, (void)tw_groups;                                                                \
    const tw_gpu_shape shape = {                                                                       \
        {groups.x, groups.y, groups.z}, TW_GROUP_SIZE, TW_DYNAMIC_BYTES, TW_CLUSTERED, TW_EARLY,       \
        sizeof *params};                                                                               \
    tw_gpu_launch(&TW_GPU_CODE_OF(TW_NAME), &shape, params, pointers,                                      \
                  (int32_t)(sizeof pointers / sizeof *pointers));                                      \
  }

#endif

/* The function of the kernel; or `launch`, of which a function makes several calls. */
#define TW_GPU_KERNEL(PARAMS, DECLARED, NAMES) TW_GPU_CALLED(, TW_NAME, PARAMS, DECLARED, NAMES)
#define TW_GPU_PART(PARAMS, DECLARED, NAMES) TW_GPU_CALLED(static, launch, PARAMS, DECLARED, NAMES)

#endif

#endif
