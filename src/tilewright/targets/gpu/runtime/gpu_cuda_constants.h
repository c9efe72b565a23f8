/* Constants on their way to the GPU. A driver copies memory that may move by one thread, through a buffer that stays; many
 * constants are brought to such buffers by threads. (One does not copy while the driver compiles: it has a lock.) For
 * gpu_cuda_open.h, which alone includes this. */
#ifndef TW_GPU_CUDA_CONSTANTS_H
#define TW_GPU_CUDA_CONSTANTS_H

#include "gpu_cuda_state.h"

enum { CARRIERS = 4, PIECE_BYTES = 4 << 20, MANY_BYTES = 32 << 20 };

/* A part of a constant. */
typedef struct {
  const unsigned char *from;
  address to;
  unsigned long bytes;
} piece;

/* What threads share. */
typedef struct {
  const on_device *to;
  pthread_mutex_t lock;
  int32_t constant; /* of which the next piece is */
  unsigned long at;
  int result; /* the first that is no success */
} load_of_constants;

/* What a thread copies with: two buffers in turn, each with the event of its last copy. */
typedef struct {
  unsigned char *buffers;
  handle stream, events[2];
} carrier;

static int next_piece(load_of_constants *all, piece *found) {
  int is_found = 0;
  pthread_mutex_lock(&all->lock);
  while (all->constant < memory->constant_count && all->at >= memory->constants[all->constant].bytes) {
    all->constant++;
    all->at = 0;
  }
  if (all->constant < memory->constant_count && all->result == SUCCESS) {
    const tw_gpu_constant *const of = &memory->constants[all->constant];
    const unsigned long left = of->bytes - all->at;
    found->from = start_of(of) + all->at;
    found->to = all->to->constants + all->to->offsets[all->constant] + all->at;
    found->bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
    all->at += found->bytes;
    is_found = 1;
  }
  pthread_mutex_unlock(&all->lock);
  return is_found;
}

static int open_carrier(carrier *own) {
  int result = cuda.allocate_here((void **)&own->buffers, 2 * PIECE_BYTES, 0);
  if (result == SUCCESS) result = cuda.stream(&own->stream, NON_BLOCKING);
  for (int i = 0; i < 2 && result == SUCCESS; i++) result = cuda.event(&own->events[i], 0);
  return result;
}

static void close_carrier(carrier *own) {
  for (int i = 0; i < 2; i++) {
    if (own->events[i]) cuda.release_event(own->events[i]);
  }
  if (own->stream) cuda.release_stream(own->stream);
  if (own->buffers) cuda.release_here(own->buffers);
}

static int carry_pieces(load_of_constants *all, const carrier *own) {
  piece one;
  int result = SUCCESS;
  for (int i = 0; result == SUCCESS && next_piece(all, &one); i++) {
    unsigned char *const buffer = own->buffers + i % 2 * PIECE_BYTES;
    if (i >= 2) result = cuda.wait_for(own->events[i % 2]);
    if (result != SUCCESS) break;
    memcpy(buffer, one.from, one.bytes);
    result = cuda.upload(one.to, buffer, one.bytes, own->stream);
    if (result == SUCCESS) result = cuda.record(own->events[i % 2], own->stream);
  }
  const int waited = cuda.wait(own->stream);
  return result == SUCCESS ? waited : result;
}

static void *carry(void *given) {
  load_of_constants *const all = given;
  carrier own = {NULL, NULL, {NULL, NULL}};
  handle ours = NULL;
  int result = cuda.push_context(context);
  if (result == SUCCESS) {
    result = open_carrier(&own);
    if (result == SUCCESS) result = carry_pieces(all, &own);
    close_carrier(&own);
    cuda.pop_context(&ours);
  }
  pthread_mutex_lock(&all->lock);
  if (all->result == SUCCESS) all->result = result;
  pthread_mutex_unlock(&all->lock);
  return NULL;
}

/* Whether threads have brought all; if not, `upload_constants` says what fails. */
static int have_carried(const on_device *to) {
  load_of_constants all = {to, PTHREAD_MUTEX_INITIALIZER, 0, 0, SUCCESS};
  pthread_t threads[CARRIERS];
  int count = 0;
  while (count < CARRIERS && pthread_create(&threads[count], NULL, carry, &all) == 0) count++;
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  return count > 0 && all.result == SUCCESS;
}

/* Constants are brought to the GPU once. */
static int upload_constants(on_device *made) {
  if (made->constant_bytes >= MANY_BYTES && have_carried(made)) return 1;
  for (int32_t i = 0; i < memory->constant_count; i++) {
    const tw_gpu_constant *const one = &memory->constants[i];
    if (!done(cuda.upload(made->constants + made->offsets[i], start_of(one), one->bytes, stream), "copy weights")) return 0;
  }
  return done(cuda.wait(stream), "copy weights");
}

#endif
