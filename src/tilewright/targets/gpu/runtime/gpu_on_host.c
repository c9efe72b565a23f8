/* The runtime where kernels for a GPU are functions of this machine: its memory is the arena, and nothing can fail.
 * Calls of several threads wait for each other, as a kernel has one place for what its groups share. */
#include "prefix.h"

#include "gpu_runtime.h"

#ifdef TW_GPU_HOST

#include <pthread.h>
#include <string.h>

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;

int tw_gpu_begin(tw_gpu_network *network, const unsigned char *arena) {
  (void)network, (void)arena;
  return pthread_mutex_lock(&busy) ? TW_GPU_FAILED : 0;
}

int tw_gpu_end(void) { return pthread_mutex_unlock(&busy) ? TW_GPU_FAILED : 0; }

const char *tw_gpu_failure(void) { return "a lock of the system fails"; }

void tw_gpu_upload(const void *from, void *to, unsigned long bytes) { memcpy(to, from, bytes); }

void tw_gpu_download(const void *from, void *to, unsigned long bytes) { memcpy(to, from, bytes); }

double tw_gpu_measured(tw_gpu_network *network, int repeats) {
  (void)network, (void)repeats;
  return -1.0;
}

const void *tw_gpu_seen(const void *data, unsigned long bytes) {
  (void)bytes;
  return data;
}

#else

/* C knows no empty file. */
typedef int tw_gpu_not_on_host;

#endif
