/* Opens the driver and the GPU, and what a network has there: constants, arenas, and what calls have recorded. For
 * gpu_cuda.c, which alone includes this. */
#ifndef TW_GPU_CUDA_OPEN_H
#define TW_GPU_CUDA_OPEN_H

#include "gpu_cuda_constants.h"
#include "gpu_cuda_load.h"
#include "gpu_networks.h"

static int find_functions(void) {
  char line[256];
  static void *library;
  void *newer;
  if (!library) library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
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

/* Streams and events that all networks share. */
static int make_streams(void) {
  return done(cuda.stream(&copies, NON_BLOCKING), "make a stream") &&
         done(cuda.stream(&stream, NON_BLOCKING), "make a stream") &&
         done(cuda.event(&first_event, 0), "make an event") && done(cuda.event(&last_event, 0), "make an event");
}

/* Gives back what there is of a GPU that could not be opened whole, so that the next call begins anew. */
static void close_device(int device) {
  handle ours = NULL;
  handle *const streams[] = {&copies, &stream}, *const events[] = {&first_event, &last_event};
  for (int i = 0; i < 2; i++) {
    if (*events[i]) cuda.release_event(*events[i]);
    if (*streams[i]) cuda.release_stream(*streams[i]);
    *events[i] = *streams[i] = NULL;
  }
  if (is_pushed) cuda.pop_context(&ours);
  if (context) cuda.release_context(device);
  context = NULL;
  is_pushed = 0;
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
  if (done(cuda.context(&context, device), "open the GPU") && use_context() && make_streams()) return 1;
  close_device(device);
  return 0;
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

static void close_arena(on_device_arena *made) {
  while (made->records) {
    recorded *const first = made->records;
    made->records = first->next;
    close_record(first);
  }
  if (made->memory) cuda.release(made->memory);
  free(made);
}

static void close_network(on_device *made) {
  close_arenas(made);
  if (made->constants) cuda.release(made->constants);
  free(made->offsets);
  free(made);
}

static on_device *with_constants(void) {
  unsigned long bytes = 0;
  on_device *const made = calloc(1, sizeof *made);
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
  made->constant_bytes = bytes;
  if (allocated_for_network(&made->constants, bytes, bytes,
                            "the weights do not fit: end what else uses the GPU (`nvidia-smi` lists it), compile with "
                            "weights of fewer bits, or with --target cpu") &&
      upload_constants(made)) {
    load_all();
    return made;
  }
  close_network(made);
  return NULL;
}

static int allocate_arena(on_device_arena *made) {
  return allocated_for_network(&made->memory, memory->arena_bytes, own->constant_bytes,
                               "the weights fit: end what else uses the GPU (`nvidia-smi` lists it), compile for a "
                               "smaller input (--dim, --shape, --context), or with --target cpu");
}

/* Copies between an arena and this machine, in the order in which they are asked for. */
static int put(const on_device_arena *to, unsigned long offset, const void *from, unsigned long bytes,
               const char *what) {
  return done(cuda.upload(to->memory + offset, from, bytes, stream), what);
}

static int get(const on_device_arena *from, unsigned long offset, void *to, unsigned long bytes, const char *what) {
  return done(cuda.download(to, from->memory + offset, bytes, stream), what);
}

static int settled(const char *what) { return done(cuda.wait(stream), what); }

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
  prepare_call(called, host_arena, given);
  record = NULL;
  stage_count = is_capturing = has_launched = graph = 0;
  if (open_driver() && check_capability() && find_memory()) record = found_record();
  return !failed;
}

void tw_gpu_forget(tw_gpu_memory *from, const unsigned char *host_arena, const unsigned char *given) {
  take();
  if (from->state && use_context()) forget(from, host_arena, given);
  leave();
}

#endif
