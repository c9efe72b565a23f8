/* What the calls of a network need of a GPU. Calls of tw_gpu_launch, tw_gpu_upload and tw_gpu_download stand between
 * tw_gpu_begin and tw_gpu_end; the first error of these is what tw_gpu_end returns. Pointers to what is in the arena or
 * a constant stand for the same place in the memory of the GPU. What is copied from or to elsewhere, the caller's
 * inputs and outputs, may be in memory of the computer or of the GPU. */
#ifndef TW_GPU_RUNTIME_H
#define TW_GPU_RUNTIME_H

#include <stdint.h>

/* What network_run returns where the GPU or its driver fails; tw_gpu_failure() says what. */
enum { TW_GPU_FAILED = 3 };

/* The code of one kernel, as PTX or as OpenCL C. */
typedef struct {
  const char *const *lines;
  int32_t count;
  const char *name;
  int32_t own_bytes; /* of memory that it is given for what lasts from launch to launch; zeros at first */
  void *function; /* once it is loaded */
  int32_t own_shared_bytes; /* that a group shares, beside those of a launch */
  int32_t most_bytes;       /* of these */
} tw_gpu_code;

/* The code of a kernel, by its function. */
#define TW_GPU_NAME_OF(FUNCTION) FUNCTION##_code
#define TW_GPU_CODE_OF(FUNCTION) TW_GPU_NAME_OF(FUNCTION)

/* How a kernel is launched: so many groups of so many items with so many bytes that they share besides. */
typedef struct {
  int32_t groups[3], items, dynamic_bytes;
  int32_t clustered; /* whether groups that differ in their third number are a cluster, if there may be so many */
  uint32_t early;    /* bit i: pointer i is read while the launch before may go on, if it is a constant */
  uint32_t params_bytes;
} tw_gpu_shape;

enum { TW_MOST_CLUSTERED = 8 };

typedef struct {
  const void *data; /* NULL: it is part of the weights that calls give */
  unsigned long bytes, offset; /* from their start */
} tw_gpu_constant;

/* Bytes of the arena that the memory of the GPU keeps between calls. */
typedef struct {
  unsigned long offset, bytes;
} tw_gpu_kept;

/* Constants and arenas in the memory of the GPU: those of a network, or of several that are called with the same. */
typedef struct {
  const tw_gpu_constant *constants;
  int32_t constant_count;
  unsigned long arena_bytes;
  tw_gpu_code *const *codes; /* of all their kernels, and NULL; none where kernels are functions of this machine */
  void *state; /* what the GPU has of it */
} tw_gpu_memory;

typedef struct {
  tw_gpu_memory *memory;
  const tw_gpu_kept *kept;
  int32_t kept_count; /* where it is not 0, every arena has one of its own in the memory of the GPU */
  int32_t in_order; /* whether every call launches the same in the same order: then it is a graph */
  int32_t capability; /* of the oldest GPU that the code is for, times ten */
} tw_gpu_network;

/* 0, or TW_GPU_FAILED. Weights are NULL where all constants are arrays; others are there once for each address. */
int tw_gpu_begin(const tw_gpu_network *network, const unsigned char *arena, const unsigned char *weights);
int tw_gpu_end(void);

/* Whether something has, since tw_gpu_begin. */
int tw_gpu_has_failed(void);

/* What went wrong last, and what to do about it. */
const char *tw_gpu_failure(void);

/* Brings what the GPU keeps between calls, which is zeros at first, from the arena to its memory, or back: 0, or
 * TW_GPU_FAILED. */
int tw_gpu_keep(const tw_gpu_network *network, const unsigned char *arena, const unsigned char *weights);
int tw_gpu_fetch(const tw_gpu_network *network, unsigned char *arena, const unsigned char *weights);

/* Gives back what the GPU has for an arena; with NULL, the constants and all arenas that are called with them. */
void tw_gpu_forget(tw_gpu_memory *memory, const unsigned char *arena, const unsigned char *weights);

/* What the cores read, where a caller's input is in the memory of the GPU: a copy of it that lives until tw_gpu_end. */
const void *tw_gpu_input(const void *data, unsigned long bytes);

/* Where the cores write, the same for an output: tw_gpu_end copies it to its place. */
void *tw_gpu_output(void *data, unsigned long bytes);

/* Memory of the GPU for a caller's inputs and outputs: NULL where there is none, and tw_gpu_failure() says why. */
void *tw_gpu_allocate(unsigned long bytes);
void tw_gpu_release(void *memory);

/* Copies an array of that memory to the computer's: 0, or TW_GPU_FAILED. */
int tw_gpu_copy(void *to, const void *from, unsigned long bytes);

/* Returns when a stream of the driver has done everything that it was given: 0, or TW_GPU_FAILED. Copies wait for the
 * default stream by themselves. */
int tw_gpu_after(void *stream);

void tw_gpu_upload(const void *from, void *to, unsigned long bytes);
/* A copy from the GPU in two steps, with one key: it is asked for behind what makes the tensor, and made when that has
 * ended, whatever the GPU was given since. */
void tw_gpu_ask(const void *key);
void tw_gpu_download(const void *key, const void *from, void *to, unsigned long bytes);

/* Starts what was launched until now, as the cores have work of their own. */
void tw_gpu_start(void);
void tw_gpu_launch(tw_gpu_code *code, const tw_gpu_shape *shape, const void *params, const void *const *pointers,
                   int32_t pointer_count);

/* Microseconds that the GPU takes for its part of a call, without copies: the mean of so many launches of its graphs.
 * Negative before the third call, and where there are none. */
double tw_gpu_measured(const tw_gpu_network *network, int repeats);

/* Where the times of layers are measured (TW_LAYER_TIMES): nanoseconds of what was launched and copied since the last
 * call. A kernel's are the mean of twenty in a row in a graph, by events; a copy's are by the clock. Negative where
 * there was nothing of that kind, and where kernels are functions of this machine. */
double tw_gpu_taken(void);

/* A tensor that was made there, for somebody who looks at what layers make. */
const void *tw_gpu_seen(const void *data, unsigned long bytes);

#endif
