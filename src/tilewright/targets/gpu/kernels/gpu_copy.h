#ifndef TW_GPU_COPY_H
#define TW_GPU_COPY_H

/* y = x, where one of them is in the memory of the GPU. */
typedef struct {
  unsigned long bytes;
} tw_gpu_copy_params;

#endif
