/* Threads, the caller included, take parts of a layer from a shared counter, so a thread that wakes late delays nobody. Idle
 * threads spin for a while, then sleep. */
#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>
#ifdef __linux__
#include <sched.h>
#endif

enum { MOST = 64, LOOKS = 64 };
#define SPIN_NANOSECONDS 200000

/* Job number, number of parts and next part, in one atomic word: a late thread sees another job number and takes nothing. */
static uint64_t ticket;
static tw_layer *job;
static const void *job_pointers;
static int finished, busy, sleepers, caller_sleeps, stopping, workers;
static pthread_t pool[MOST];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t published = PTHREAD_COND_INITIALIZER, completed = PTHREAD_COND_INITIALIZER;

static unsigned next_of(uint64_t of) { return (unsigned)(of & 0xffff); }
static unsigned parts_of(uint64_t of) { return (unsigned)(of >> 16 & 0xffff); }

static int has_parts(void) {
  const uint64_t seen = __atomic_load_n(&ticket, __ATOMIC_SEQ_CST);
  return next_of(seen) < parts_of(seen) || __atomic_load_n(&stopping, __ATOMIC_SEQ_CST);
}

static int is_finished(void) {
  return __atomic_load_n(&finished, __ATOMIC_SEQ_CST) == (int)parts_of(__atomic_load_n(&ticket, __ATOMIC_RELAXED));
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_briefly(void) {
#if defined(__aarch64__)
  __asm__ volatile("yield");
#elif defined(__x86_64__)
  __asm__ volatile("pause");
#endif
}

/* Spins on a condition. Returns whether it became true. */
static int is_soon(int (*is_true)(void)) {
  const int64_t end = nanoseconds() + SPIN_NANOSECONDS;
  do {
    for (int i = 0; i < LOOKS; i++) {
      if (is_true()) return 1;
      pause_briefly();
    }
  } while (nanoseconds() < end);
  return 0;
}

/* Spins, then sleeps. `asleep` tells other threads to signal. */
static void wait_until(int (*is_true)(void), int *asleep, pthread_cond_t *signalled) {
  if (is_soon(is_true)) return;
  pthread_mutex_lock(&mutex);
  __atomic_add_fetch(asleep, 1, __ATOMIC_SEQ_CST);
  while (!is_true()) pthread_cond_wait(signalled, &mutex);
  __atomic_sub_fetch(asleep, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&mutex);
}

static void wake(int *asleep, pthread_cond_t *signalled) {
  if (!__atomic_load_n(asleep, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&mutex);
  pthread_cond_broadcast(signalled);
  pthread_mutex_unlock(&mutex);
}

/* Computes parts until none is left. No other job can start while a part is being computed. */
static void compute_parts(void) {
  uint64_t seen = __atomic_load_n(&ticket, __ATOMIC_ACQUIRE);
  while (next_of(seen) < parts_of(seen)) {
    if (!__atomic_compare_exchange_n(&ticket, &seen, seen + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    job(job_pointers, (int)next_of(seen));
    __atomic_add_fetch(&finished, 1, __ATOMIC_SEQ_CST);
    wake(&caller_sleeps, &completed);
    seen = __atomic_load_n(&ticket, __ATOMIC_ACQUIRE);
  }
}

static void *worker(void *unused) {
  (void)unused;
  while (!__atomic_load_n(&stopping, __ATOMIC_SEQ_CST)) {
    wait_until(has_parts, &sleepers, &published);
    compute_parts();
  }
  return 0;
}

void tw_parallel(tw_layer *layer, const void *pointers, int parts) {
  if (!__atomic_load_n(&workers, __ATOMIC_ACQUIRE) || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
    for (int part = 0; part < parts; part++) layer(pointers, part);
    return;
  }
  job = layer;
  job_pointers = pointers;
  __atomic_store_n(&finished, 0, __ATOMIC_RELAXED);
  const uint64_t number = (__atomic_load_n(&ticket, __ATOMIC_RELAXED) >> 32) + 1;
  __atomic_store_n(&ticket, number << 32 | (uint64_t)parts << 16, __ATOMIC_SEQ_CST);
  wake(&sleepers, &published);
  compute_parts();
  wait_until(is_finished, &caller_sleeps, &completed);
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

/* Pins a thread to one of the processors that the process may use. */
static void pin(pthread_t thread, int number) {
#ifdef __linux__
  cpu_set_t allowed, own;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (!CPU_ISSET(processor, &allowed) || number-- > 0) continue;
    CPU_ZERO(&own);
    CPU_SET(processor, &own);
    pthread_setaffinity_np(thread, sizeof own, &own);
    return;
  }
#else
  (void)thread, (void)number;
#endif
}

/* After a fork, only the calling thread exists. */
static void forget_pool(void) {
  workers = busy = sleepers = caller_sleeps = stopping = finished = 0;
  ticket = 0;
  pthread_mutex_init(&mutex, 0);
  pthread_cond_init(&published, 0);
  pthread_cond_init(&completed, 0);
}

int tw_start_pool(int threads, int pinned) {
  static int watches_forks;
  if (workers || threads < 2) return 0;
  if (!watches_forks) watches_forks = pthread_atfork(0, 0, forget_pool) == 0;
  int made = 0;
  while (made < threads - 1 && made < MOST && pthread_create(&pool[made], 0, worker, 0) == 0) made++;
  for (int i = 0; pinned && i < made; i++) pin(pool[i], i + 1);
  __atomic_store_n(&workers, made, __ATOMIC_RELEASE);
  if (made == threads - 1) return 0;
  tw_stop_pool();
  return 1;
}

void tw_stop_pool(void) {
  __atomic_store_n(&stopping, 1, __ATOMIC_SEQ_CST);
  wake(&sleepers, &published);
  for (int i = 0; i < workers; i++) pthread_join(pool[i], 0);
  workers = 0;
  __atomic_store_n(&stopping, 0, __ATOMIC_SEQ_CST);
}
