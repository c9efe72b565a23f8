/* Opens the driver and the GPU, and what a network has there: constants, arenas, and what calls have recorded. For
 * gpu_cuda.c, which alone includes this. */
#ifndef TW_GPU_CUDA_OPEN_H
#define TW_GPU_CUDA_OPEN_H

#include "gpu_cuda_state.h"

static int find_functions(void) {
  char line[256];
  void *newer;
  void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fail("there is no driver of an NVIDIA GPU on this machine: libcuda.so.1 is not found",
         "install it (Debian: nvidia-driver, Ubuntu: nvidia-driver-580), or compile with --target cpu; "
         "with cmake -DGPU_ON_HOST=ON the kernels are C for this machine");
    return 0;
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *const found = dlsym(library, functions[i].name);
    if (!found) {
      snprintf(line, sizeof line, "the GPU's driver is too old: it has no %s", functions[i].name);
      fail(line, "install driver 470 or newer, or compile with --target cpu");
      return 0;
    }
    memcpy(functions[i].pointer, &found, sizeof found);
  }
  newer = dlsym(library, "cuLaunchKernelEx");
  memcpy(&cuda.launch_shape, &newer, sizeof newer);
  return 1;
}

/* Whether launches may overlap, and groups be clusters: from compute capability 9.0 and CUDA 12.0 on. */
static int find_overlap(void) {
  int version = 0;
  if (!done(cuda.version(&version), "say its version")) return 0;
  overlaps = capability >= 90 && version >= 12000 && cuda.launch_shape;
  return 1;
}

static int find_sizes(int device) {
  const struct {
    int *value, name;
  } sizes[] = {{&multiprocessors, MULTIPROCESSORS}, {&shared_bytes, SHARED_BYTES},
               {&most_shared_bytes, MOST_SHARED_BYTES}, {&lost_shared_bytes, LOST_SHARED_BYTES}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    if (!done(cuda.attribute(sizes[i].value, sizes[i].name, device), "say how large it is")) return 0;
  }
  return 1;
}

/* Makes our context current until `leave` restores the thread's own. */
static int use_context(void) {
  is_pushed = done(cuda.push_context(context), "use the GPU");
  return is_pushed;
}

static int open_device(void) {
  int device = 0, major = 0, minor = 0;
  const int code = cuda.init(0);
  if (code == NO_DEVICE || (code == SUCCESS && cuda.device(&device, 0) != SUCCESS)) {
    fail("the driver finds no NVIDIA GPU",
         "see what `nvidia-smi` and CUDA_VISIBLE_DEVICES say, or compile with --target cpu");
    return 0;
  }
  if (!done(code, "start")) return 0;
  if (!done(cuda.attribute(&major, MAJOR, device), "say what GPU it is")) return 0;
  if (!done(cuda.attribute(&minor, MINOR, device), "say what GPU it is")) return 0;
  capability = 10 * major + minor;
  if (!find_overlap() || (overlaps && !find_sizes(device))) return 0;
  opened_device = device;
  if (!done(cuda.context(&context, device), "open the GPU") || !use_context()) return 0;
  if (!done(cuda.stream(&copies, NON_BLOCKING), "make a stream")) return 0;
  if (!done(cuda.stream(&stream, NON_BLOCKING), "make a stream")) return 0;
  return done(cuda.event(&first_event, 0), "make an event") && done(cuda.event(&last_event, 0), "make an event");
}

static int open_driver(void) { return stream ? use_context() : find_functions() && open_device(); }

static int check_capability(void) {
  char line[256];
  if (capability >= network->capability) return 1;
  snprintf(line, sizeof line, "the GPU is of compute capability %d.%d, the network was compiled for %d.%d and newer",
           capability / 10, capability % 10, network->capability / 10, network->capability % 10);
  fail(line, "use a newer GPU, or compile with --target cpu");
  return 0;
}

static unsigned long whole(unsigned long bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Allocates GPU memory. The error names `purpose` if there is not enough. */
static int allocated(address *place, unsigned long bytes, const char *purpose, const char *hint) {
  char line[320];
  size_t free_bytes = 0, every = 0;
  const int code = cuda.allocate(place, bytes ? bytes : 1);
  if (code != OUT_OF_MEMORY) return done(code, "allocate memory");
  cuda.memory(&free_bytes, &every);
  snprintf(line, sizeof line, "the GPU has not enough memory: %s, %lu of %lu bytes are free", purpose,
           (unsigned long)free_bytes, (unsigned long)every);
  fail(line, hint);
  return 0;
}

/* For a network: its constants are shared if they are there already, and allocated otherwise. */
static int allocated_for_network(address *place, unsigned long bytes, unsigned long constants, const char *hint) {
  char purpose[160];
  snprintf(purpose, sizeof purpose, "the network needs %lu bytes, %lu of them for weights and %lu to compute in",
           constants + memory->arena_bytes, constants, memory->arena_bytes);
  return allocated(place, bytes, purpose, hint);
}

static void forget_inputs(recorded *of) {
  while (of->input_count) cuda.release(of->inputs[--of->input_count].copy);
  free(of->inputs);
  of->inputs = NULL;
  of->lacks_inputs = 0;
}

static void close_record(recorded *made) {
  forget_inputs(made);
  for (int i = 0; i < made->graph_count; i++) cuda.release_graph(made->graphs[i]);
  free(made->graphs);
  free(made);
}

static void close_arena(on_gpu_arena *made) {
  while (made->records) {
    recorded *const first = made->records;
    made->records = first->next;
    close_record(first);
  }
  if (made->memory) cuda.release(made->memory);
  free(made);
}

static void close_network(on_gpu *made) {
  while (made->arenas) {
    on_gpu_arena *const first = made->arenas;
    made->arenas = first->next;
    close_arena(first);
  }
  if (made->constants) cuda.release(made->constants);
  free(made->offsets);
  free(made);
}

/* Constants are brought to the GPU once. */
static int upload_constants(on_gpu *made) {
  for (int32_t i = 0; i < memory->constant_count; i++) {
    const tw_gpu_constant *const one = &memory->constants[i];
    if (!done(cuda.upload(made->constants + made->offsets[i], start_of(one), one->bytes, stream), "copy weights")) return 0;
  }
  return done(cuda.wait(stream), "copy weights");
}

static on_gpu *opened_network(void) {
  unsigned long bytes = 0;
  on_gpu *const made = calloc(1, sizeof *made);
  if (made) made->offsets = calloc((size_t)memory->constant_count + 1, sizeof *made->offsets);
  if (!made || !made->offsets) {
    no_room_here();
    free(made);
    return NULL;
  }
  for (int32_t i = 0; i < memory->constant_count; i++) {
    made->offsets[i] = bytes;
    bytes += whole(memory->constants[i].bytes);
  }
  made->weights = weights;
  made->constant_bytes = bytes;
  if (allocated_for_network(&made->constants, bytes, bytes,
                            "the weights do not fit: end what else uses the GPU (`nvidia-smi` lists it), compile with "
                            "weights of fewer bits, or with --target cpu") &&
      upload_constants(made)) {
    made->next = network->memory->state;
    return network->memory->state = made;
  }
  close_network(made);
  return NULL;
}

/* States are zero before the first call. */
static int cleared(const on_gpu_arena *made) {
  static const unsigned char zeros[1 << 16];
  for (int32_t i = 0; i < network->kept_count; i++) {
    const tw_gpu_kept one = network->kept[i];
    for (unsigned long at = 0; at < one.bytes; at += sizeof zeros) {
      const unsigned long left = one.bytes - at, bytes = left < sizeof zeros ? left : sizeof zeros;
      if (!done(cuda.upload(made->memory + one.offset + at, zeros, bytes, stream), "clear a state")) return 0;
    }
  }
  return done(cuda.wait(stream), "clear a state");
}

static on_gpu_arena *opened_arena(const unsigned char *owner) {
  on_gpu_arena *const made = calloc(1, sizeof *made);
  if (!made) return no_room_here(), NULL;
  made->owner = owner;
  if (!allocated_for_network(&made->memory, memory->arena_bytes, own->constant_bytes,
                             "the weights fit: end what else uses the GPU (`nvidia-smi` lists it), compile for a "
                             "smaller input (--dim, --shape, --context), or with --target cpu") ||
      !cleared(made)) {
    close_arena(made);
    return NULL;
  }
  made->next = own->arenas;
  return own->arenas = made;
}

static on_gpu_arena *found_arena(const unsigned char *host_arena) {
  const unsigned char *const owner = network->kept_count ? host_arena : NULL;
  on_gpu_arena *found = own->arenas;
  while (found && found->owner != owner) found = found->next;
  return found ? found : opened_arena(owner);
}

static on_gpu *found_constants(void) {
  on_gpu *found = memory->state;
  while (found && found->weights != weights) found = found->next;
  return found ? found : opened_network();
}

static recorded *found_record(void) {
  recorded *found = state->records;
  while (found && found->of != network) found = found->next;
  if (found) return found;
  found = calloc(1, sizeof *found);
  if (!found) return no_room_here(), NULL;
  found->of = network;
  found->next = state->records;
  return state->records = found;
}

/* From here to `leave`, one thread owns the GPU. */
static void take(void) {
  pthread_mutex_lock(&busy);
  failed = is_pushed = 0;
}

static int leave(void) {
  const int result = failed ? TW_GPU_FAILED : 0;
  handle ours = NULL;
  if (is_pushed) cuda.pop_context(&ours);
  pthread_mutex_unlock(&busy);
  return result;
}

static int enter(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given) {
  take();
  network = called;
  memory = called->memory;
  arena = host_arena;
  weights = given;
  own = NULL;
  state = NULL;
  record = NULL;
  stage_count = is_capturing = has_launched = graph = 0;
  if (open_driver() && check_capability()) own = found_constants();
  if (!failed) state = found_arena(host_arena);
  if (!failed) record = found_record();
  return !failed;
}

int tw_gpu_has_failed(void) { return failed; }

int tw_gpu_begin(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given) {
  return enter(called, host_arena, given) ? 0 : leave();
}

int tw_gpu_fetch(const tw_gpu_network *called, unsigned char *host_arena, const unsigned char *given) {
  if (enter(called, host_arena, given)) {
    for (int32_t i = 0; i < network->kept_count && !failed; i++) {
      const tw_gpu_kept one = network->kept[i];
      const address place = state->memory + one.offset;
      if (one.bytes) done(cuda.download(host_arena + one.offset, place, one.bytes, stream), "copy a state");
    }
    if (!failed) done(cuda.wait(stream), "copy a state");
  }
  return leave();
}

int tw_gpu_keep(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given) {
  if (enter(called, host_arena, given)) {
    for (int32_t i = 0; i < network->kept_count; i++) {
      const tw_gpu_kept one = network->kept[i];
      const address place = state->memory + one.offset;
      if (one.bytes) done(cuda.upload(place, arena + one.offset, one.bytes, stream), "copy a state");
    }
    if (!failed) done(cuda.wait(stream), "copy a state");
  }
  return leave();
}

/* Removes an arena from a memory's list. */
static on_gpu_arena *removed_arena(const tw_gpu_memory *from, const unsigned char *owner) {
  for (on_gpu *made = from->state; made; made = made->next) {
    on_gpu_arena **at = &made->arenas;
    while (*at && (*at)->owner != owner) at = &(*at)->next;
    if (*at) {
      on_gpu_arena *const found = *at;
      *at = found->next;
      return found;
    }
  }
  return NULL;
}

static void forget_constants(tw_gpu_memory *from, const unsigned char *given) {
  on_gpu *last = NULL, *found = from->state;
  while (found && found->weights != given) {
    last = found;
    found = found->next;
  }
  if (!found) return;
  if (last) last->next = found->next;
  else from->state = found->next;
  close_network(found);
}

void tw_gpu_forget(tw_gpu_memory *from, const unsigned char *host_arena, const unsigned char *given) {
  take();
  if (from->state && use_context()) {
    on_gpu_arena *const found = host_arena ? removed_arena(from, host_arena) : NULL;
    if (found) close_arena(found);
    if (!host_arena) forget_constants(from, given);
  }
  leave();
}

#endif
