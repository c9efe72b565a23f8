/* The runtime for GPU kernels compiled as C for this machine. GPU memory is the arena, and nothing can fail. Calls from
 * several threads are serialised, because a kernel has a single copy of its shared memory. */
#include "prefix.h"

#include "gpu_runtime.h"

#ifdef TW_GPU_HOST

#include <pthread.h>
#include <string.h>

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;

int tw_gpu_begin(const tw_gpu_network *network, const unsigned char *arena, const unsigned char *weights) {
  (void)network, (void)arena, (void)weights;
  return pthread_mutex_lock(&busy) ? TW_GPU_FAILED : 0;
}

int tw_gpu_end(void) { return pthread_mutex_unlock(&busy) ? TW_GPU_FAILED : 0; }

int tw_gpu_has_failed(void) { return 0; }

const char *tw_gpu_failure(void) {
  return "the kernels are C of this machine, which has no memory of a GPU\n"
         "give arrays of this machine's memory, or build without GPU_ON_HOST where there is a GPU";
}

void tw_gpu_upload(const void *from, void *to, unsigned long bytes) { memcpy(to, from, bytes); }

void tw_gpu_ask(const void *key) { (void)key; }

void tw_gpu_download(const void *key, const void *from, void *to, unsigned long bytes) {
  (void)key;
  if (to != from) memcpy(to, from, bytes);
}

void tw_gpu_start(void) {}

int tw_gpu_keep(const tw_gpu_network *network, const unsigned char *arena, const unsigned char *weights) {
  (void)network, (void)arena, (void)weights;
  return 0;
}

int tw_gpu_fetch(const tw_gpu_network *network, unsigned char *arena, const unsigned char *weights) {
  (void)network, (void)arena, (void)weights;
  return 0;
}

void tw_gpu_forget(tw_gpu_memory *memory, const unsigned char *arena, const unsigned char *weights) {
  (void)memory, (void)arena, (void)weights;
}

const void *tw_gpu_input(const void *data, unsigned long bytes) {
  (void)bytes;
  return data;
}

void *tw_gpu_output(void *data, unsigned long bytes) {
  (void)bytes;
  return data;
}

void *tw_gpu_allocate(unsigned long bytes) {
  (void)bytes;
  return NULL;
}

void tw_gpu_release(void *memory) { (void)memory; }

int tw_gpu_copy(void *to, const void *from, unsigned long bytes) {
  (void)to, (void)from, (void)bytes;
  return TW_GPU_FAILED;
}

int tw_gpu_after(void *stream) {
  (void)stream;
  return TW_GPU_FAILED;
}

double tw_gpu_measured(const tw_gpu_network *network, int repeats) {
  (void)network, (void)repeats;
  return -1.0;
}

double tw_gpu_taken(void) { return -1.0; }

const void *tw_gpu_seen(const void *data, unsigned long bytes) {
  (void)bytes;
  return data;
}

#else

/* C knows no empty file. */
typedef int tw_gpu_not_on_host;

#endif
