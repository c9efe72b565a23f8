/* Groups that share a tile read each other's shared memory, where they are a cluster. */
#ifndef TW_GPU_CLUSTER_H
#define TW_GPU_CLUSTER_H

#include "gpu_async.h"

#if TW_IS_ASYNC

/* How many groups the cluster has along z; 1 where there is none. */
TW_GPU int32_t tw_cluster_size(void) {
  int32_t size;
  __asm__ volatile("mov.u32 %0, 1;\n\tmov.u32 %0, %%cluster_nctaid.z;" : "=r"(size));
  return size;
}

#define TW_CLUSTER_MEET()                                               \
  __asm__ volatile("barrier.cluster.arrive.release.aligned;\n\t"       \
                   "barrier.cluster.wait.acquire.aligned;" ::: "memory")

/* 16 bytes of the shared memory of another group of the cluster. */
TW_GPU void tw_cluster_read(void *to, const TW_LOCAL void *from, int32_t group) {
  uint32_t there = 0, *const words = to;
  __asm__ volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "+r"(there) : "r"(tw_local_address(from)), "r"(group));
  __asm__ volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                   : "r"(there)
                   : "memory");
}

#else

TW_GPU int32_t tw_cluster_size(void) { return 1; }
#define TW_CLUSTER_MEET() ((void)0)
TW_GPU void tw_cluster_read(void *to, const TW_LOCAL void *from, int32_t group) { (void)to, (void)from, (void)group; }

#endif

#endif
