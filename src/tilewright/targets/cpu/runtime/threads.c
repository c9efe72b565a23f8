/* Each thread of the pool, the caller included, begins with its own parts of a layer, the same of every layer, so that it
 * finds in its cache what it wrote. Then it takes what others have not begun, so that a slow or late thread delays nobody.
 * Idle threads spin for a while, then sleep. */
#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
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

/* What a thread has of a layer. Its lines go to another core when the layer begins, and when somebody looks for parts. */
typedef struct {
  uint64_t left; /* job number, first part and the one behind the last that nobody took, in one atomic word */
  tw_layer *layer;
  const void *pointers;
  uint64_t done OWN_LINES; /* job number, and how many parts of that job this thread computed */
} Share;

static Share shares[MOST + 1] OWN_LINES; /* the caller's first */
static uint64_t job;                     /* its number */
static int parts_of_job, sharing;
static int busy OWN_LINES, sleepers, caller_sleeps, stopping, workers;
static pthread_t pool[MOST];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t published = PTHREAD_COND_INITIALIZER, completed = PTHREAD_COND_INITIALIZER;

enum { PART_BITS = 12, DONE_BITS = 16 };
static unsigned first_of(uint64_t left) { return (unsigned)(left >> PART_BITS & ((1u << PART_BITS) - 1)); }
static unsigned end_of(uint64_t left) { return (unsigned)(left & ((1u << PART_BITS) - 1)); }
static uint64_t number_of(uint64_t left) { return left >> (2 * PART_BITS); }

static int has_parts(const void *of) {
  const uint64_t left = __atomic_load_n(&((const Share *)of)->left, __ATOMIC_SEQ_CST);
  return first_of(left) < end_of(left) || __atomic_load_n(&stopping, __ATOMIC_SEQ_CST);
}

static int is_finished(const void *unused) {
  int done = 0;
  (void)unused;
  for (int i = 0; i < sharing; i++) {
    const uint64_t own = __atomic_load_n(&shares[i].done, __ATOMIC_SEQ_CST);
    if (own >> DONE_BITS == job) done += (int)(own & ((1u << DONE_BITS) - 1));
  }
  return done == parts_of_job;
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
static int is_soon(int (*is_true)(const void *), const void *of) {
  if (is_true(of)) return 1;
  const int64_t end = nanoseconds() + SPIN_NANOSECONDS;
  do {
    for (int i = 0; i < LOOKS; i++) {
      if (is_true(of)) return 1;
      pause_briefly();
    }
  } while (nanoseconds() < end);
  return 0;
}

/* Spins, then sleeps. `asleep` tells other threads to signal. */
static void wait_until(int (*is_true)(const void *), const void *of, int *asleep, pthread_cond_t *signalled) {
  if (is_soon(is_true, of)) return;
  pthread_mutex_lock(&mutex);
  __atomic_add_fetch(asleep, 1, __ATOMIC_SEQ_CST);
  while (!is_true(of)) pthread_cond_wait(signalled, &mutex);
  __atomic_sub_fetch(asleep, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&mutex);
}

static void wake(int *asleep, pthread_cond_t *signalled) {
  if (!__atomic_load_n(asleep, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&mutex);
  pthread_cond_broadcast(signalled);
  pthread_mutex_unlock(&mutex);
}

/* A part of a job that nobody took: the owner's first, others' last. -1 if there is none. */
static int taken(Share *share, uint64_t number, int is_own) {
  uint64_t left = __atomic_load_n(&share->left, __ATOMIC_SEQ_CST);
  while (number_of(left) == number && first_of(left) < end_of(left)) {
    const uint64_t rest = is_own ? left + (1u << PART_BITS) : left - 1;
    if (!__atomic_compare_exchange_n(&share->left, &left, rest, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) continue;
    return (int)(is_own ? first_of(left) : end_of(left) - 1);
  }
  return -1;
}

/* All parts of a share that nobody took, for thread `thread`. The job cannot end while one is being computed. */
static uint64_t compute_share(Share *share, uint64_t number, int thread, uint64_t done) {
  for (int part; (part = taken(share, number, share == shares + thread)) >= 0;) {
    share->layer(share->pointers, part, thread);
    __atomic_store_n(&shares[thread].done, ++done, __ATOMIC_SEQ_CST);
    if (thread) wake(&caller_sleeps, &completed);
  }
  return done;
}

/* The thread's own parts, then those of the next ones. */
static void compute(int thread, uint64_t number, int threads) {
  uint64_t done = number << DONE_BITS;
  for (int i = 0; i < threads; i++) done = compute_share(shares + (thread + i) % threads, number, thread, done);
}

static void *worker(void *of) {
  Share *const own = of;
  while (!__atomic_load_n(&stopping, __ATOMIC_SEQ_CST)) {
    wait_until(has_parts, own, &sleepers, &published);
    compute((int)(own - shares), number_of(__atomic_load_n(&own->left, __ATOMIC_SEQ_CST)), 1 + workers);
  }
  return 0;
}

/* The caller also computes what threads that are about to sleep do not see. */
static void share_out(tw_layer *layer, const void *pointers, int parts, int threads) {
  job = (job + 1) & (~(uint64_t)0 >> (2 * PART_BITS));
  parts_of_job = parts;
  sharing = threads;
  for (int i = threads - 1; i >= 0; i--) {
    const uint64_t first = (uint64_t)(parts * i / threads), end = (uint64_t)(parts * (i + 1) / threads);
    shares[i].layer = layer;
    shares[i].pointers = pointers;
    __atomic_store_n(&shares[i].left, job << (2 * PART_BITS) | first << PART_BITS | end, __ATOMIC_RELEASE);
  }
  wake(&sleepers, &published);
}

void tw_parallel(tw_layer *layer, const void *pointers, int parts) {
  const int others = __atomic_load_n(&workers, __ATOMIC_ACQUIRE);
  if (!others || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
    for (int part = 0; part < parts; part++) layer(pointers, part, 0);
    return;
  }
  share_out(layer, pointers, parts, parts <= others ? parts : 1 + others);
  compute(0, job, sharing);
  wait_until(is_finished, 0, &caller_sleeps, &completed);
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
  workers = busy = sleepers = caller_sleeps = stopping = 0;
  memset(shares, 0, sizeof shares);
  pthread_mutex_init(&mutex, 0);
  pthread_cond_init(&published, 0);
  pthread_cond_init(&completed, 0);
}

int tw_start_pool(int threads, int pinned) {
  static int watches_forks;
  if (workers || threads < 2) return 0;
  if (!watches_forks) watches_forks = pthread_atfork(0, 0, forget_pool) == 0;
  int made = 0;
  while (made < threads - 1 && made < MOST && pthread_create(&pool[made], 0, worker, shares + made + 1) == 0) made++;
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
