/* What the calls of a network need of a GPU. Calls of tw_gpu_launch, tw_gpu_upload and tw_gpu_download stand between
 * tw_gpu_begin and tw_gpu_end; the first error of these is what tw_gpu_end returns. Pointers to what is in the arena or
 * a constant stand for the same place in the memory of the GPU. */
#ifndef TW_GPU_RUNTIME_H
#define TW_GPU_RUNTIME_H

#include <stdint.h>

/* What network_run returns where the GPU or its driver fails; tw_gpu_failure() says what. */
enum { TW_GPU_FAILED = 3 };

/* The code of one kernel, as PTX text. */
typedef struct {
  const char *const *lines;
  int32_t count;
  const char *name;
  void *function; /* once it is loaded */
} tw_gpu_code;

typedef struct {
  const void *data;
  unsigned long bytes;
} tw_gpu_constant;

typedef struct {
  const tw_gpu_constant *constants;
  int32_t constant_count;
  int32_t in_order; /* whether every call launches the same in the same order: then it is a graph */
  int32_t capability; /* of the oldest GPU that the code is for, times ten */
  unsigned long arena_bytes;
  void *state; /* what the GPU has of it */
} tw_gpu_network;

/* 0, or TW_GPU_FAILED. */
int tw_gpu_begin(tw_gpu_network *network, const unsigned char *arena);
int tw_gpu_end(void);

/* What went wrong last, and what to do about it. */
const char *tw_gpu_failure(void);

void tw_gpu_upload(const void *from, void *to, unsigned long bytes);
void tw_gpu_download(const void *from, void *to, unsigned long bytes);
void tw_gpu_launch(tw_gpu_code *code, const int32_t *groups, int32_t items, const void *params,
                   const void *const *pointers, int32_t pointer_count);

/* Microseconds that the GPU takes for its part of a call, without copies: the mean of so many launches of its graphs.
 * Negative before the third call, and where there are none. */
double tw_gpu_measured(tw_gpu_network *network, int repeats);

/* A tensor that was made there, for somebody who looks at what layers make. */
const void *tw_gpu_seen(const void *data, unsigned long bytes);

#endif
