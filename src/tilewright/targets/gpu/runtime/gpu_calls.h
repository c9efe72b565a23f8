/* What all runtimes on a GPU know of a call, and how it fails. One thread at a time is between begin and end; only the
 * runtime's own file includes this. */
#ifndef TW_GPU_CALLS_H
#define TW_GPU_CALLS_H

enum { MOST_POINTERS = 32 };

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static const tw_gpu_network *network;
static const tw_gpu_memory *memory;
static const unsigned char *arena, *weights;
static int failed;
static char said[4096] = "nothing has failed";

static void fail(const char *what, const char *hint) {
  if (failed) return;
  failed = 1;
  snprintf(said, sizeof said, "%s\n%s", what, hint);
}

const char *tw_gpu_failure(void) { return said; }

static int no_room_here(void) {
  fail("this machine has not enough memory", "end what else runs");
  return 0;
}

static const unsigned char *start_of(const tw_gpu_constant *one) {
  return one->data ? one->data : weights + one->offset;
}

static int is_in_arena(const void *pointer) {
  const unsigned char *const at = pointer;
  return at >= arena && at < arena + memory->arena_bytes;
}

#endif
