/* The runtime on an NVIDIA GPU, by nothing but its driver, which is looked for when the first network runs.
 *
 * The first call of a network loads its kernels. Where all calls launch the same, the second one records what is
 * launched between copies as graphs, and later calls launch these. One thread at a time is between begin and end.
 *
 * The weights of a network are on the GPU once. What is computed there has an arena that all callers share, or, where
 * something is kept between calls, one for each arena of theirs; graphs belong to it, as its addresses are in them. */
/* TW_GPU_TIMES prints what each launch of the first call takes. */
#if defined(TW_GPU_TIMES) && !defined(TW_LAYER_TIMES)
#define TW_LAYER_TIMES
#endif
#ifdef TW_LAYER_TIMES
#define _POSIX_C_SOURCE 199309L
#endif

#include "prefix.h"

#include "gpu_runtime.h"

#if !defined(TW_GPU_HOST) && !defined(TW_GPU_BY_OPENCL)

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TW_LAYER_TIMES
#include <time.h>
#endif

/* ---- the driver ------------------------------------------------------------------------------------------------- */

typedef unsigned long long address;
typedef struct opaque *handle;
enum {
  SUCCESS = 0, OUT_OF_MEMORY = 2, NO_DEVICE = 100, UNSUPPORTED_PTX = 222,
  KIND_OF_MEMORY = 2, DEVICE_OF_MEMORY = 9, ON_DEVICE = 2,
  CAPTURES_RELAXED = 2, NON_BLOCKING = 1, MAJOR = 75, MINOR = 76, LOG_BUFFER = 5, LOG_BYTES = 6,
  DYNAMIC_BYTES = 8, PART_SHARED = 9, CLUSTER = 4, OVERLAP = 6
};

/* How a kernel is launched with more than cuLaunchKernel takes. */
typedef struct {
  int name;
  unsigned unused, value[16];
} launch_attribute;
typedef struct {
  unsigned groups[3], items[3], dynamic_bytes;
  handle stream;
  launch_attribute *attributes;
  unsigned attribute_count;
} launch_shape;

static struct {
  int (*init)(unsigned flags);
  int (*version)(int *version);
  int (*error_text)(int error, const char **text);
  int (*device)(int *device, int number);
  int (*attribute)(int *value, int attribute, int device);
  int (*context)(handle *context, int device);
  int (*use_context)(handle context);
  int (*memory)(size_t *free_bytes, size_t *all_bytes);
  int (*allocate)(address *memory, size_t bytes);
  int (*release)(address memory);
  int (*upload)(address to, const void *from, size_t bytes, handle stream);
  int (*download)(void *to, address from, size_t bytes, handle stream);
  int (*copy)(address to, address from, size_t bytes, handle stream);
  int (*about)(void *value, int attribute, address pointer);
  int (*stream)(handle *stream, unsigned flags);
  int (*wait)(handle stream);
  int (*load)(handle *module, const void *code, unsigned options, int *names, void **values);
  int (*function)(handle *function, handle module, const char *name);
  int (*launch)(handle function, unsigned x, unsigned y, unsigned z, unsigned items_x, unsigned items_y,
                unsigned items_z, unsigned shared_bytes, handle stream, void **arguments, void **more);
  int (*launch_shape)(const launch_shape *shape, handle function, void **arguments, void **more); /* or NULL */
  int (*set)(handle function, int attribute, int value);
  int (*begin_capture)(handle stream, int mode);
  int (*end_capture)(handle stream, handle *graph);
  int (*instantiate)(handle *executable, handle graph, unsigned long long flags);
  int (*launch_graph)(handle executable, handle stream);
  int (*forget_graph)(handle graph);
  int (*release_graph)(handle executable);
  int (*event)(handle *event, unsigned flags);
  int (*record)(handle event, handle stream);
  int (*wait_event)(handle stream, handle event, unsigned flags);
  int (*wait_for)(handle event);
  int (*elapsed)(float *milliseconds, handle first, handle last);
} cuda;

static const struct {
  const char *name;
  void *pointer;
} functions[] = {
    {"cuInit", &cuda.init},
    {"cuDriverGetVersion", &cuda.version},
    {"cuGetErrorString", &cuda.error_text},
    {"cuDeviceGet", &cuda.device},
    {"cuDeviceGetAttribute", &cuda.attribute},
    {"cuDevicePrimaryCtxRetain", &cuda.context},
    {"cuCtxSetCurrent", &cuda.use_context},
    {"cuMemGetInfo_v2", &cuda.memory},
    {"cuMemAlloc_v2", &cuda.allocate},
    {"cuMemFree_v2", &cuda.release},
    {"cuMemcpyHtoDAsync_v2", &cuda.upload},
    {"cuMemcpyDtoHAsync_v2", &cuda.download},
    {"cuMemcpyDtoDAsync_v2", &cuda.copy},
    {"cuPointerGetAttribute", &cuda.about},
    {"cuStreamCreate", &cuda.stream},
    {"cuStreamSynchronize", &cuda.wait},
    {"cuModuleLoadDataEx", &cuda.load},
    {"cuModuleGetFunction", &cuda.function},
    {"cuLaunchKernel", &cuda.launch},
    {"cuFuncSetAttribute", &cuda.set},
    {"cuStreamBeginCapture_v2", &cuda.begin_capture},
    {"cuStreamEndCapture", &cuda.end_capture},
    {"cuGraphInstantiateWithFlags", &cuda.instantiate},
    {"cuGraphLaunch", &cuda.launch_graph},
    {"cuGraphDestroy", &cuda.forget_graph},
    {"cuGraphExecDestroy", &cuda.release_graph},
    {"cuEventCreate", &cuda.event},
    {"cuEventRecord", &cuda.record},
    {"cuStreamWaitEvent", &cuda.wait_event},
    {"cuEventSynchronize", &cuda.wait_for},
    {"cuEventElapsedTime", &cuda.elapsed},
};

/* ---- what is going on ------------------------------------------------------------------------------------------- */

/* What was copied to the GPU before a graph, and may be written over behind it: kept for launches without a call. */
typedef struct {
  address place, copy;
  unsigned long bytes;
  int graph;
} brought;

/* What the GPU has for an arena. */
typedef struct on_gpu_arena {
  const unsigned char *owner; /* the caller's arena; NULL where all share it */
  address memory;
  handle *graphs;
  int graph_count, room;
  int calls; /* that have ended well, as far as that matters */
  brought *inputs; /* of the call that was recorded */
  int input_count, lacks_inputs;
  struct on_gpu_arena *next;
} on_gpu_arena;

/* What the GPU has of a network. */
typedef struct {
  address constants;
  unsigned long *offsets, constant_bytes;
  on_gpu_arena *arenas;
} on_gpu;

/* A copy of what a caller has in the memory of the GPU, for the cores. */
typedef struct {
  void *memory, *output; /* where it is copied to at the end, if it is an output */
  unsigned long bytes, room;
} staged;

/* A copy that is asked for, and what it waits for. */
typedef struct {
  const void *key;
  handle event;
} ask;

enum { MOST_POINTERS = 32, ALIGNMENT = 256 };
enum { LOADING, RECORDING, REPLAYING };
enum { ALL_SHARED = 100 /* percent */ };

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static handle context, stream, copies, first_event, last_event; /* copies from the GPU are on a stream of their own */
static int capability, overlaps;
static tw_gpu_network *network;
static on_gpu *own;
static on_gpu_arena *state;
static const unsigned char *arena;
static staged *stages;
static ask *asked;
static int stage_count, stage_room, asked_count, asked_room;
static int failed, is_capturing, has_launched, graph, opened_device;
static char said[2048] = "nothing has failed";

static void fail(const char *what, const char *hint) {
  if (failed) return;
  failed = 1;
  snprintf(said, sizeof said, "%s\n%s", what, hint);
}

/* Whether a call of the driver has done what it should. */
static int done(int code, const char *what) {
  const char *text = "an unknown error";
  char line[512];
  if (code == SUCCESS) return 1;
  cuda.error_text(code, &text);
  snprintf(line, sizeof line, "the GPU's driver fails to %s: %s (error %d)", what, text, code);
  fail(line, "see whether `nvidia-smi` shows the GPU; `--target cpu` needs none");
  return 0;
}

const char *tw_gpu_failure(void) { return said; }

/* ---- opening ---------------------------------------------------------------------------------------------------- */

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
  if (!find_overlap()) return 0;
  opened_device = device;
  if (!done(cuda.context(&context, device), "open the GPU")) return 0;
  if (!done(cuda.use_context(context), "use the GPU")) return 0;
  if (!done(cuda.stream(&copies, NON_BLOCKING), "make a stream")) return 0;
  if (!done(cuda.stream(&stream, NON_BLOCKING), "make a stream")) return 0;
  return done(cuda.event(&first_event, 0), "make an event") && done(cuda.event(&last_event, 0), "make an event");
}

static int open_driver(void) {
  if (stream) return done(cuda.use_context(context), "use the GPU");
  return find_functions() && open_device();
}

static int check_capability(void) {
  char line[256];
  if (capability >= network->capability) return 1;
  snprintf(line, sizeof line, "the GPU is of compute capability %d.%d, the network was compiled for %d.%d and newer",
           capability / 10, capability % 10, network->capability / 10, network->capability % 10);
  fail(line, "use a newer GPU, or compile with --target cpu");
  return 0;
}

static unsigned long whole(unsigned long bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Memory of the GPU: what it is for is said where there is not enough. */
static int allocated(address *memory, unsigned long bytes, const char *purpose, const char *hint) {
  char line[320];
  size_t free_bytes = 0, every = 0;
  const int code = cuda.allocate(memory, bytes ? bytes : 1);
  if (code != OUT_OF_MEMORY) return done(code, "allocate memory");
  cuda.memory(&free_bytes, &every);
  snprintf(line, sizeof line, "the GPU has not enough memory: %s, %lu of %lu bytes are free", purpose,
           (unsigned long)free_bytes, (unsigned long)every);
  fail(line, hint);
  return 0;
}

/* For a network, of which the constants are there already or are what is allocated. */
static int allocated_for_network(address *memory, unsigned long bytes, unsigned long constants, const char *hint) {
  char purpose[160];
  snprintf(purpose, sizeof purpose, "the network needs %lu bytes, %lu of them for weights and %lu to compute in",
           constants + network->arena_bytes, constants, network->arena_bytes);
  return allocated(memory, bytes, purpose, hint);
}

static int no_room_here(void) {
  fail("this machine has not enough memory", "end what else runs");
  return 0;
}

static void forget_inputs(on_gpu_arena *of) {
  while (of->input_count) cuda.release(of->inputs[--of->input_count].copy);
  free(of->inputs);
  of->inputs = NULL;
  of->lacks_inputs = 0;
}

static void close_arena(on_gpu_arena *made) {
  forget_inputs(made);
  for (int i = 0; i < made->graph_count; i++) cuda.release_graph(made->graphs[i]);
  if (made->memory) cuda.release(made->memory);
  free(made->graphs);
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
  for (int32_t i = 0; i < network->constant_count; i++) {
    const tw_gpu_constant *const one = &network->constants[i];
    if (!done(cuda.upload(made->constants + made->offsets[i], one->data, one->bytes, stream), "copy weights")) return 0;
  }
  return done(cuda.wait(stream), "copy weights");
}

static on_gpu *opened_network(void) {
  unsigned long bytes = 0;
  on_gpu *const made = calloc(1, sizeof *made);
  if (made) made->offsets = calloc((size_t)network->constant_count + 1, sizeof *made->offsets);
  if (!made || !made->offsets) {
    no_room_here();
    free(made);
    return NULL;
  }
  for (int32_t i = 0; i < network->constant_count; i++) {
    made->offsets[i] = bytes;
    bytes += whole(network->constants[i].bytes);
  }
  made->constant_bytes = bytes;
  if (allocated_for_network(&made->constants, bytes, bytes,
                            "the weights do not fit: end what else uses the GPU (`nvidia-smi` lists it), compile with "
                            "weights of fewer bits, or with --target cpu") &&
      upload_constants(made)) {
    return made;
  }
  close_network(made);
  return NULL;
}

static on_gpu_arena *opened_arena(const unsigned char *owner) {
  on_gpu_arena *const made = calloc(1, sizeof *made);
  if (!made) return no_room_here(), NULL;
  made->owner = owner;
  if (!allocated_for_network(&made->memory, network->arena_bytes, own->constant_bytes,
                             "the weights fit: end what else uses the GPU (`nvidia-smi` lists it), compile for a "
                             "smaller input (--dim, --shape), or with --target cpu")) {
    free(made);
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

/* From here to `leave` the GPU belongs to one thread. */
static int enter(tw_gpu_network *called, const unsigned char *host_arena) {
  pthread_mutex_lock(&busy);
  network = called;
  arena = host_arena;
  state = NULL;
  stage_count = failed = is_capturing = has_launched = graph = 0;
  if (open_driver() && check_capability() && !network->state) network->state = opened_network();
  own = network->state;
  if (!failed) state = found_arena(host_arena);
  return !failed;
}

static int leave(void) {
  const int result = failed ? TW_GPU_FAILED : 0;
  pthread_mutex_unlock(&busy);
  return result;
}

int tw_gpu_begin(tw_gpu_network *called, const unsigned char *host_arena) {
  return enter(called, host_arena) ? 0 : leave();
}

int tw_gpu_keep(tw_gpu_network *called, const unsigned char *host_arena) {
  if (enter(called, host_arena)) {
    for (int32_t i = 0; i < network->kept_count; i++) {
      const tw_gpu_kept one = network->kept[i];
      const address place = state->memory + one.offset;
      if (one.bytes) done(cuda.upload(place, arena + one.offset, one.bytes, stream), "copy a state");
    }
    if (!failed) done(cuda.wait(stream), "copy a state");
  }
  return leave();
}

void tw_gpu_forget(tw_gpu_network *called, const unsigned char *host_arena) {
  pthread_mutex_lock(&busy);
  on_gpu *const made = called->state;
  if (made && cuda.use_context(context) == SUCCESS) {
    on_gpu_arena **at = &made->arenas;
    while (*at && (*at)->owner != host_arena) at = &(*at)->next;
    if (!host_arena) {
      close_network(made);
      called->state = NULL;
    } else if (*at) {
      on_gpu_arena *const found = *at;
      *at = found->next;
      close_arena(found);
    }
  }
  pthread_mutex_unlock(&busy);
}

/* ---- memory of the caller's ------------------------------------------------------------------------------------- */

/* Whether something is in the memory of the GPU, for which what the default stream does with it is waited for. */
static int is_on_gpu(const void *pointer) {
  char line[256];
  int kind = 0, device = opened_device;
  if (cuda.about(&kind, KIND_OF_MEMORY, (address)(uintptr_t)pointer) != SUCCESS || kind != ON_DEVICE) return 0;
  if (cuda.about(&device, DEVICE_OF_MEMORY, (address)(uintptr_t)pointer) == SUCCESS && device != opened_device) {
    snprintf(line, sizeof line, "an array is in the memory of GPU %d, the network runs on GPU %d", device,
             opened_device);
    fail(line, "copy it to that GPU before the call");
  }
  return 1;
}

static void wait_for_default_stream(void) {
  if (done(cuda.record(last_event, NULL), "record an event")) {
    done(cuda.wait_event(stream, last_event, 0), "wait for an event");
  }
}

/* A place in the memory of this machine that is kept from call to call. */
static staged *new_stage(unsigned long bytes) {
  if (stage_count == stage_room) {
    staged *const more = realloc(stages, sizeof *more * (size_t)(stage_room + 4));
    if (!more) return no_room_here(), NULL;
    memset(more + stage_room, 0, 4 * sizeof *more);
    stages = more;
    stage_room += 4;
  }
  staged *const found = &stages[stage_count];
  if (found->room < bytes) {
    void *const more = realloc(found->memory, bytes);
    if (!more) return no_room_here(), NULL;
    found->memory = more;
    found->room = bytes;
  }
  found->bytes = bytes;
  found->output = NULL;
  stage_count++;
  return found;
}

const void *tw_gpu_input(const void *data, unsigned long bytes) {
  if (failed || !bytes || !is_on_gpu(data)) return data;
  const staged *const here = new_stage(bytes);
  wait_for_default_stream();
  if (!failed) done(cuda.download(here->memory, (address)(uintptr_t)data, bytes, stream), "copy an input");
  if (failed) return data;
  done(cuda.wait(stream), "copy an input");
  return here->memory;
}

void *tw_gpu_output(void *data, unsigned long bytes) {
  if (failed || !bytes || !is_on_gpu(data)) return data;
  staged *const here = new_stage(bytes);
  if (!here) return data;
  here->output = data;
  return here->memory;
}

static void deliver_outputs(void) {
  for (int i = 0; i < stage_count && !failed; i++) {
    const staged one = stages[i];
    if (one.output) done(cuda.upload((address)(uintptr_t)one.output, one.memory, one.bytes, stream), "copy an output");
  }
}

void *tw_gpu_allocate(unsigned long bytes) {
  address memory = 0;
  char purpose[80];
  pthread_mutex_lock(&busy);
  failed = 0;
  if (open_driver()) {
    snprintf(purpose, sizeof purpose, "an array needs %lu bytes", bytes);
    allocated(&memory, bytes, purpose, "let go of other arrays there, or end what else uses it (see `nvidia-smi`)");
  }
  leave();
  return (void *)(uintptr_t)memory;
}

void tw_gpu_release(void *memory) {
  pthread_mutex_lock(&busy);
  if (stream && cuda.use_context(context) == SUCCESS) cuda.release((address)(uintptr_t)memory);
  pthread_mutex_unlock(&busy);
}

int tw_gpu_copy(void *to, const void *from, unsigned long bytes) {
  pthread_mutex_lock(&busy);
  failed = 0;
  if (open_driver()) wait_for_default_stream();
  if (!failed) done(cuda.download(to, (address)(uintptr_t)from, bytes, stream), "copy an array");
  if (!failed) done(cuda.wait(stream), "copy an array");
  return leave();
}

int tw_gpu_after(void *others) {
  pthread_mutex_lock(&busy);
  failed = 0;
  if (open_driver()) done(cuda.wait(others), "wait for a stream");
  return leave();
}

/* ---- launching -------------------------------------------------------------------------------------------------- */

static int mode(void) { return network->in_order ? state->calls : LOADING; }

static int is_in_arena(const void *pointer) {
  const unsigned char *const at = pointer;
  return at >= arena && at < arena + network->arena_bytes;
}

static address translated(const void *pointer) {
  const unsigned char *const at = pointer;
  if (!at) return 0;
  if (is_in_arena(at)) return state->memory + (address)(at - arena);
  for (int32_t i = 0; i < network->constant_count; i++) {
    const unsigned char *const start = network->constants[i].data;
    if (at >= start && at < start + network->constants[i].bytes) {
      return own->constants + own->offsets[i] + (address)(at - start);
    }
  }
  fail("a kernel is given something that the GPU does not have", "please report it");
  return 0;
}

/* A line of code for this GPU: what only newer ones know is left out, or the code is said to be for them. */
static const char *line_here(const char *line) {
  if (overlaps && strncmp(line, ".version ", 9) == 0) return ".version 8.0\n";
  if (overlaps && strncmp(line, ".target ", 8) == 0) return ".target sm_90\n";
  return !overlaps && (strstr(line, "griddepcontrol") || strstr(line, "cluster")) ? "" : line;
}

/* The code of a kernel as one text, which the caller frees. */
static char *text_of(const tw_gpu_code *code) {
  size_t bytes = 1;
  for (int32_t i = 0; i < code->count; i++) bytes += strlen(line_here(code->lines[i]));
  char *const text = malloc(bytes), *end = text;
  if (!text) {
    no_room_here();
    return NULL;
  }
  for (int32_t i = 0; i < code->count; i++) {
    const char *const line = line_here(code->lines[i]);
    const size_t length = strlen(line);
    memcpy(end, line, length);
    end += length;
  }
  *end = '\0';
  return text;
}

static void load(tw_gpu_code *code, int32_t dynamic_bytes) {
  char log[1024] = "", line[1400], *const text = text_of(code);
  int names[] = {LOG_BUFFER, LOG_BYTES}, version = 0;
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  handle module = NULL, function = NULL;
  if (!text) return;
  const int result = cuda.load(&module, text, 2, names, values);
  free(text);
  if (result == UNSUPPORTED_PTX) {
    cuda.version(&version);
    snprintf(line, sizeof line, "the GPU's driver is too old for this code: it is for CUDA %d.%d", version / 1000,
             version % 1000 / 10);
    fail(line, "install a newer driver, or compile with --target cpu");
  } else if (result != SUCCESS && log[0]) {
    snprintf(line, sizeof line, "the GPU's driver cannot compile a kernel: %s", log);
    fail(line, "please report it");
  } else if (done(result, "load a kernel") && done(cuda.function(&function, module, code->name), "find a kernel")) {
    if (dynamic_bytes) done(cuda.set(function, DYNAMIC_BYTES, dynamic_bytes), "share memory of a multiprocessor");
    /* All kernels want the same part of a cache as shared memory, so that one begins beside another. */
    done(cuda.set(function, PART_SHARED, ALL_SHARED), "share memory of a multiprocessor");
    code->function = function;
  }
}

/* Whether what a kernel reads before the launch before it has ended is all constant. */
static int may_overlap(const tw_gpu_shape *shape, const void *const *pointers, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    if (shape->early >> i & 1 && is_in_arena(pointers[i])) return 0;
  }
  return overlaps;
}

static int launched(const tw_gpu_code *code, const tw_gpu_shape *shape, int may_begin_early, void **arguments) {
  const unsigned x = (unsigned)shape->groups[0], y = (unsigned)shape->groups[1], z = (unsigned)shape->groups[2];
  const unsigned items = (unsigned)shape->items, bytes = (unsigned)shape->dynamic_bytes;
  launch_attribute attributes[2] = {{OVERLAP, 0, {1}}, {CLUSTER, 0, {1, 1, z}}};
  const int is_cluster = overlaps && shape->clustered && z > 1 && z <= TW_MOST_CLUSTERED;
  const launch_shape all = {{x, y, z}, {items, 1, 1}, bytes, stream, attributes + !may_begin_early,
                            (unsigned)(may_begin_early + is_cluster)};
  if (all.attribute_count) return cuda.launch_shape(&all, code->function, arguments, NULL);
  return cuda.launch(code->function, x, y, z, items, 1, 1, bytes, stream, arguments, NULL);
}

static void launch_now(tw_gpu_code *code, const tw_gpu_shape *shape, const void *params, const void *const *pointers,
                       int32_t count) {
  address places[MOST_POINTERS];
  void *arguments[MOST_POINTERS + 1];
  memcpy(&arguments[0], &params, sizeof params);
  for (int32_t i = 0; i < count; i++) {
    places[i] = translated(pointers[i]);
    arguments[i + 1] = &places[i];
  }
  if (!failed) done(launched(code, shape, may_overlap(shape, pointers, count), arguments), "launch a kernel");
}

#ifdef TW_LAYER_TIMES
/* Nanoseconds of what the layer that runs has launched and copied; negative where that is nothing. */
static double taken = -1.0;

enum { REPEATS = 20 };

static void add_time(double nanoseconds) { taken = (taken < 0.0 ? 0.0 : taken) + nanoseconds; }

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* A graph of launches of one kernel, each behind the other. */
static handle repeated(tw_gpu_code *code, const tw_gpu_shape *shape, const void *params, const void *const *pointers,
                       int32_t count) {
  handle recorded = NULL, executable = NULL;
  if (!done(cuda.begin_capture(stream, CAPTURES_RELAXED), "record a graph")) return NULL;
  for (int i = 0; i < REPEATS; i++) launch_now(code, shape, params, pointers, count);
  if (!done(cuda.end_capture(stream, &recorded), "record a graph")) return NULL;
  if (!failed) done(cuda.instantiate(&executable, recorded, 0), "make a graph");
  cuda.forget_graph(recorded);
  return failed ? NULL : executable;
}

/* What a kernel takes in a graph. It may have changed what it reads, so that the arena is as before afterwards. */
static void measure(tw_gpu_code *code, const tw_gpu_shape *shape, const void *params, const void *const *pointers,
                    int32_t count) {
  float milliseconds = 0.0f;
  address saved = 0;
  const unsigned long bytes = network->arena_bytes;
  if (failed || !allocated(&saved, bytes, "the arena is copied to measure time", "end what else uses it")) return;
  done(cuda.copy(saved, state->memory, bytes, stream), "copy the arena");
  const handle many = repeated(code, shape, params, pointers, count);
  for (int i = 0; i < 2 && !failed; i++) { /* the first one for the caches */
    done(cuda.record(first_event, stream), "record an event");
    if (!failed) done(cuda.launch_graph(many, stream), "launch a graph");
    if (!failed) done(cuda.record(last_event, stream), "record an event");
  }
  if (!failed) done(cuda.copy(state->memory, saved, bytes, stream), "copy the arena");
  if (!failed) done(cuda.wait(stream), "compute");
  if (!failed) done(cuda.elapsed(&milliseconds, first_event, last_event), "measure time");
  if (many) cuda.release_graph(many);
  cuda.release(saved);
  add_time((double)milliseconds * 1e6 / REPEATS);
#ifdef TW_GPU_TIMES
  fprintf(stderr, "%8.2f us  %6d groups of %3d  %s\n", (double)milliseconds * 1e3 / REPEATS,
          shape->groups[0] * shape->groups[1] * shape->groups[2], shape->items, code->name);
#endif
}

double tw_gpu_taken(void) {
  const double found = taken;
  taken = -1.0;
  return found;
}
#endif

void tw_gpu_launch(tw_gpu_code *code, const tw_gpu_shape *shape, const void *params, const void *const *pointers,
                   int32_t count) {
  if (failed || shape->groups[0] == 0 || shape->groups[1] == 0 || shape->groups[2] == 0) return;
  has_launched = 1;
  if (mode() == REPLAYING) return; /* it is part of a graph */
  if (!code->function) load(code, shape->dynamic_bytes);
#ifdef TW_LAYER_TIMES
  measure(code, shape, params, pointers, count);
#endif
  if (mode() == RECORDING && !failed && !is_capturing) {
    is_capturing = done(cuda.begin_capture(stream, CAPTURES_RELAXED), "record a graph");
  }
  if (!failed) launch_now(code, shape, params, pointers, count);
}

static void keep_graph(void) {
  handle recorded = NULL, executable = NULL;
  is_capturing = 0;
  if (!done(cuda.end_capture(stream, &recorded), "record a graph")) return;
  const int made = done(cuda.instantiate(&executable, recorded, 0), "make a graph");
  cuda.forget_graph(recorded);
  if (!made) return;
  if (state->graph_count == state->room) {
    handle *const more = realloc(state->graphs, sizeof *more * (size_t)(2 * state->room + 4));
    if (!more) {
      no_room_here();
      return;
    }
    state->graphs = more;
    state->room = 2 * state->room + 4;
  }
  state->graphs[state->graph_count++] = executable;
}

/* What was launched since the last copy. */
static void run_graph(void) {
  if (is_capturing) keep_graph();
  if (!failed && has_launched && mode() != LOADING && graph < state->graph_count) {
    done(cuda.launch_graph(state->graphs[graph++], stream), "launch a graph");
  }
  has_launched = 0;
}

/* Where there is no room for a copy, times are not measured; calls need none. */
static void remember_input(address place, unsigned long bytes) {
  brought *const more = realloc(state->inputs, sizeof *more * (size_t)(state->input_count + 1));
  address copy = 0;
  if (more) state->inputs = more;
  if (!more || cuda.allocate(&copy, bytes) != SUCCESS) {
    state->lacks_inputs = 1;
    return;
  }
  const brought made = {place, copy, bytes, state->graph_count};
  state->inputs[state->input_count++] = made;
  done(cuda.copy(copy, place, bytes, stream), "copy an input");
}

static void upload(const void *from, void *to, unsigned long bytes) {
  if (failed || !bytes) return;
  const address place = translated(to);
  if (is_in_arena(from) || !is_on_gpu(from)) {
    done(cuda.upload(place, from, bytes, stream), "copy to the GPU");
  } else if (!failed) {
    wait_for_default_stream();
    done(cuda.copy(place, (address)(uintptr_t)from, bytes, stream), "copy an input");
  }
  if (!failed && mode() == RECORDING) remember_input(place, bytes);
}

/* On a stream of its own, which waits for the event: the other one goes on. */
static void download(handle ready, const void *from, void *to, unsigned long bytes) {
  const address place = translated(from);
  const int stays = !is_in_arena(to) && is_on_gpu(to);
  if (failed) return;
  if (stays) {
    /* Nobody waits here: what is launched from now on may write over what is copied, and waits for the copy. */
    if (!done(cuda.wait_event(copies, ready, 0), "wait for an event")) return;
    if (!done(cuda.copy((address)(uintptr_t)to, place, bytes, copies), "copy an output")) return;
    if (!done(cuda.record(ready, copies), "record an event")) return;
    done(cuda.wait_event(stream, ready, 0), "wait for an event");
  } else if (done(cuda.wait_for(ready), "compute")) {
    done(cuda.download(to, place, bytes, copies), "copy from the GPU");
    if (!failed) done(cuda.wait(copies), "copy from the GPU");
  }
}

/* The event of a copy that is asked for. */
static handle event_of(const void *key) {
  for (int i = 0; i < asked_count; i++) {
    if (asked[i].key == key) return asked[i].event;
  }
  if (asked_count == asked_room) {
    ask *const more = realloc(asked, sizeof *more * (size_t)(2 * asked_room + 8));
    if (!more) return no_room_here(), NULL;
    asked = more;
    asked_room = 2 * asked_room + 8;
  }
  handle event = NULL;
  if (!done(cuda.event(&event, 0), "make an event")) return NULL;
  asked[asked_count].key = key;
  asked[asked_count].event = event;
  asked_count++;
  return event;
}

void tw_gpu_ask(const void *key) {
  run_graph();
  if (failed) return;
  const handle event = event_of(key);
  if (event) done(cuda.record(event, stream), "record an event");
}

void tw_gpu_start(void) { run_graph(); }

#ifdef TW_LAYER_TIMES
#define TIMED(WORK)                                     \
  do {                                                  \
    if (!failed) done(cuda.wait(stream), "compute");    \
    const double start = now();                         \
    WORK;                                               \
    if (!failed) done(cuda.wait(stream), "copy");       \
    add_time(now() - start);                            \
  } while (0)
#else
#define TIMED(WORK) WORK
#endif

void tw_gpu_upload(const void *from, void *to, unsigned long bytes) {
  run_graph();
  TIMED(upload(from, to, bytes));
}

void tw_gpu_download(const void *key, const void *from, void *to, unsigned long bytes) {
  run_graph();
  if (failed || !bytes) return;
  const handle ready = event_of(key);
  TIMED(if (ready) download(ready, from, to, bytes));
}

const void *tw_gpu_seen(const void *data, unsigned long bytes) {
  static unsigned char *copy;
  if (!is_in_arena(data) || failed) return data;
  unsigned char *const room = realloc(copy, bytes + 1);
  if (!room) return data;
  copy = room;
  run_graph();
  if (!failed && done(cuda.wait(stream), "compute")) done(cuda.download(copy, translated(data), bytes, stream), "copy");
  if (!failed) done(cuda.wait(stream), "copy");
  return copy;
}

int tw_gpu_end(void) {
  run_graph();
  deliver_outputs();
  if (!failed) done(cuda.wait(stream), "compute");
  if (!failed) done(cuda.wait(copies), "copy from the GPU");
  if (is_capturing) {
    handle unused = NULL;
    if (cuda.end_capture(stream, &unused) == SUCCESS && unused) cuda.forget_graph(unused);
  }
  if (failed && state->calls != REPLAYING) {
    while (state->graph_count) cuda.release_graph(state->graphs[--state->graph_count]);
    forget_inputs(state);
  }
  if (!failed && state->calls != REPLAYING) state->calls++;
  return leave();
}

/* Copies what is kept between calls to one piece of memory, or back. */
static void save_kept(const tw_gpu_network *of, const on_gpu_arena *from, address saved, int back) {
  unsigned long at = 0;
  for (int32_t i = 0; i < of->kept_count && !failed; i++) {
    const tw_gpu_kept one = of->kept[i];
    const address kept = from->memory + one.offset, copy = saved + at;
    if (one.bytes) done(cuda.copy(back ? kept : copy, back ? copy : kept, one.bytes, stream), "copy a state");
    at += whole(one.bytes);
  }
}

/* What the recorded call has brought to the GPU before a graph, and that graph if it is to be launched. */
static void launch_again(const on_gpu_arena *of, int at, int computes) {
  for (int i = 0; i < of->input_count && !failed; i++) {
    const brought one = of->inputs[i];
    if (one.graph == at) done(cuda.copy(one.place, one.copy, one.bytes, stream), "copy an input");
  }
  if (!failed && computes) done(cuda.launch_graph(of->graphs[at], stream), "launch a graph");
}

static float time_of_graphs(const on_gpu_arena *last, int repeats, int computes) {
  float milliseconds = 0.0f;
  if (!failed) done(cuda.record(first_event, stream), "record an event");
  for (int i = 0; i < repeats && !failed; i++) {
    for (int at = 0; at < last->graph_count; at++) launch_again(last, at, computes);
  }
  if (!failed) done(cuda.record(last_event, stream), "record an event");
  if (!failed) done(cuda.wait(stream), "compute");
  if (!failed) done(cuda.elapsed(&milliseconds, first_event, last_event), "measure time");
  return milliseconds;
}

double tw_gpu_measured(tw_gpu_network *called, int repeats) {
  address saved = 0;
  unsigned long bytes = 0;
  float milliseconds = 0.0f;
  pthread_mutex_lock(&busy);
  const on_gpu_arena *const last = called->state ? ((on_gpu *)called->state)->arenas : NULL;
  failed = !last || last->calls != REPLAYING || last->graph_count == 0 || last->lacks_inputs || repeats < 1;
  for (int32_t i = 0; i < called->kept_count; i++) bytes += whole(called->kept[i].bytes);
  if (!failed) done(cuda.use_context(context), "use the GPU");
  if (!failed && bytes) allocated(&saved, bytes, "states are copied while time is measured", "end what else uses it");
  if (!failed) {
    save_kept(called, last, saved, 0);
    milliseconds = time_of_graphs(last, repeats, 1) - time_of_graphs(last, repeats, 0);
    save_kept(called, last, saved, 1);
    if (!failed) done(cuda.wait(stream), "compute");
  }
  if (saved) cuda.release(saved);
  return leave() ? -1.0 : (double)milliseconds * 1e3 / repeats;
}

#else

/* C knows no empty file. */
typedef int tw_gpu_not_by_cuda;

#endif
