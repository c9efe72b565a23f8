/* Threads, the caller included, take parts of a layer from a shared counter, so a thread that wakes late delays nobody. Idle
 * threads spin for a while, then sleep. */
#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>
#ifdef __linux__
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#endif

enum { MOST = 64, LOOKS = 64 };
#define SPIN_NANOSECONDS 200000

#define OWN_LINES __attribute__((aligned(128))) /* lines come in pairs */

/* What a worker needs to begin. The ticket is job number, number of parts and next part, in one atomic word: a late thread
 * sees another job number and takes nothing. */
static struct {
  uint64_t ticket;
  tw_layer *job;
  const void *pointers;
} offer OWN_LINES;
static int finished OWN_LINES;
static int busy OWN_LINES, sleepers, caller_sleeps, stopping, workers;
static pthread_t pool[MOST];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t published = PTHREAD_COND_INITIALIZER, completed = PTHREAD_COND_INITIALIZER;

static unsigned next_of(uint64_t of) { return (unsigned)(of & 0xffff); }
static unsigned parts_of(uint64_t of) { return (unsigned)(of >> 16 & 0xffff); }

static int has_parts(void) {
  const uint64_t seen = __atomic_load_n(&offer.ticket, __ATOMIC_SEQ_CST);
  return next_of(seen) < parts_of(seen) || __atomic_load_n(&stopping, __ATOMIC_SEQ_CST);
}

static int is_finished(void) {
  return __atomic_load_n(&finished, __ATOMIC_SEQ_CST) == (int)parts_of(__atomic_load_n(&offer.ticket, __ATOMIC_RELAXED));
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
  uint64_t seen = __atomic_load_n(&offer.ticket, __ATOMIC_ACQUIRE);
  while (next_of(seen) < parts_of(seen)) {
    if (!__atomic_compare_exchange_n(&offer.ticket, &seen, seen + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    offer.job(offer.pointers, (int)next_of(seen));
    __atomic_add_fetch(&finished, 1, __ATOMIC_SEQ_CST);
    wake(&caller_sleeps, &completed);
    seen = __atomic_load_n(&offer.ticket, __ATOMIC_ACQUIRE);
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
  offer.job = layer;
  offer.pointers = pointers;
  __atomic_store_n(&finished, 0, __ATOMIC_RELAXED);
  const uint64_t number = (__atomic_load_n(&offer.ticket, __ATOMIC_RELAXED) >> 32) + 1;
  __atomic_store_n(&offer.ticket, number << 32 | (uint64_t)parts << 16, __ATOMIC_SEQ_CST);
  wake(&sleepers, &published);
  compute_parts();
  wait_until(is_finished, &caller_sleeps, &completed);
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

#ifdef __linux__
/* The first processor of the core that a processor is part of, as the system tells: "0,8" or "0-1" of both. */
static int core_of(int processor) {
  char path[80], text[16] = "";
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", processor);
  const int file = open(path, O_RDONLY);
  if (file < 0) return processor;
  const int known = read(file, text, sizeof text - 1) > 0;
  close(file);
  const int core = known ? atoi(text) : processor;
  return core >= 0 && core < CPU_SETSIZE ? core : processor;
}

/* The processors that the process may use, in `found`: first one of each core, then those that share a core with these. */
static int order_processors(int found[CPU_SETSIZE]) {
  cpu_set_t left, cores;
  if (sched_getaffinity(0, sizeof left, &left) != 0) return 0;
  CPU_ZERO(&cores);
  int count = 0;
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (!CPU_ISSET(processor, &left)) continue;
    const int core = core_of(processor);
    if (CPU_ISSET(core, &cores)) continue;
    CPU_SET(core, &cores);
    CPU_CLR(processor, &left);
    found[count++] = processor;
  }
  for (int processor = 0; processor < CPU_SETSIZE; processor++)
    if (CPU_ISSET(processor, &left)) found[count++] = processor;
  return count;
}
#endif

/* Pins the pool's threads to a processor each; the first processor is the caller's. */
static void pin_pool(int threads) {
#ifdef __linux__
  int found[CPU_SETSIZE];
  const int count = order_processors(found);
  for (int i = 0; i < threads && i + 1 < count; i++) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(found[i + 1], &own);
    pthread_setaffinity_np(pool[i], sizeof own, &own);
  }
#else
  (void)threads;
#endif
}

/* After a fork, only the calling thread exists. */
static void forget_pool(void) {
  workers = busy = sleepers = caller_sleeps = stopping = finished = 0;
  offer.ticket = 0;
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
  if (pinned) pin_pool(made);
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
