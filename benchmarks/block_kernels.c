/* Threads that call a kernel, or read what it reads: the seconds of a call. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "block_product.h"

enum { MOST_THREADS = 64 };

void tw_kernel(const tw_block_product_params *params, const float *x, const uint8_t *w, const float *bias, float *y,
               void *scratch);

typedef struct {
  tw_block_product_params params;
  const float *x;
  const uint64_t *w;
  float *y;
  unsigned char *scratch;
  int64_t words; /* to read instead; 0: the kernel is called */
  int32_t calls;
  double seconds;
  uint64_t sum;
} job;

static pthread_barrier_t all_are_there;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t read_words(const job *own) {
  const int64_t first = own->words * own->params.part / own->params.parts;
  const int64_t last = own->words * (own->params.part + 1) / own->params.parts;
  uint64_t sum = 0;
  for (int64_t i = first; i < last; i++) sum += own->w[i];
  return sum;
}

static void *work(void *pointer) {
  job *const own = pointer;
  pthread_barrier_wait(&all_are_there);
  const double start = now();
  for (int32_t call = 0; call < own->calls; call++) {
    if (own->words) own->sum += read_words(own);
    else tw_kernel(&own->params, own->x, (const uint8_t *)own->w, 0, own->y, own->scratch);
  }
  own->seconds = (now() - start) / own->calls;
  return 0;
}

double seconds(const tw_block_product_params *params, const float *x, const uint64_t *w, float *y,
               unsigned char *scratch, int64_t scratch_bytes, int64_t words, int32_t threads, int32_t calls) {
  static job jobs[MOST_THREADS];
  pthread_t made[MOST_THREADS];
  double longest = 0.0;
  pthread_barrier_init(&all_are_there, 0, (unsigned)threads);
  for (int32_t i = 0; i < threads; i++) {
    jobs[i] = (job){*params, x, w, y, scratch + i * scratch_bytes, words, calls, 0.0, 0};
    jobs[i].params.part = i;
    jobs[i].params.parts = threads;
    pthread_create(&made[i], 0, work, &jobs[i]);
  }
  for (int32_t i = 0; i < threads; i++) {
    pthread_join(made[i], 0);
    if (jobs[i].seconds > longest) longest = jobs[i].seconds;
  }
  pthread_barrier_destroy(&all_are_there);
  return longest;
}
