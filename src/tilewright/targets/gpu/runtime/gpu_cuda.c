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

#include "gpu_cuda_driver.h"

/* ---- state ------------------------------------------------------------------------------------------------------- */

/* Inputs that were copied to the GPU before a graph and that the graph may overwrite. Kept for launches outside a call. */
typedef struct {
  address place, copy;
  unsigned long bytes;
  int graph;
} brought;

/* What calls of one network with one arena have created. */
typedef struct recorded {
  const tw_gpu_network *of;
  handle *graphs;
  int graph_count, room;
  int calls; /* that have ended well, as far as that matters */
  brought *inputs; /* of the call that was recorded */
  int input_count, lacks_inputs;
  struct recorded *next;
} recorded;

/* What the GPU has for an arena. */
typedef struct on_gpu_arena {
  const unsigned char *owner; /* the caller's arena; NULL where all share it */
  address memory;
  recorded *records; /* of each network */
  struct on_gpu_arena *next;
} on_gpu_arena;

/* GPU memory shared by networks with the same constants. */
typedef struct on_gpu {
  const unsigned char *weights; /* that calls give */
  address constants;
  unsigned long *offsets, constant_bytes;
  on_gpu_arena *arenas;
  struct on_gpu *next;
} on_gpu;

/* A copy, for the processor, of an array that the caller has in GPU memory. */
typedef struct {
  void *memory, *output; /* where an output is copied to at the end */
  unsigned long bytes, room;
} staged;

/* A requested copy, and the event that it waits for. */
typedef struct {
  const void *key;
  handle event;
} ask;

enum { MOST_POINTERS = 32, ALIGNMENT = 256 };
enum { LOADING, RECORDING, REPLAYING };
enum { ALL_SHARED = 100 /* percent */ };

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static handle context, stream, copies, first_event, last_event; /* copies from the GPU have their own stream */
static int capability, overlaps;
static int multiprocessors, shared_bytes, most_shared_bytes, lost_shared_bytes; /* of a multiprocessor; of a group */
static const tw_gpu_network *network;
static const tw_gpu_memory *memory;
static on_gpu *own;
static on_gpu_arena *state;
static recorded *record;
static const unsigned char *arena, *weights;
static staged *stages;
static ask *asked;
static int stage_count, stage_room, asked_count, asked_room;
static int failed, is_capturing, has_launched, graph, opened_device;
static int is_pushed; /* whether our context was pushed onto the thread's context stack */
static char said[2048] = "nothing has failed";

static void fail(const char *what, const char *hint) {
  if (failed) return;
  failed = 1;
  snprintf(said, sizeof said, "%s\n%s", what, hint);
}

/* Whether a driver call has succeeded. */
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

static int no_room_here(void) {
  fail("this machine has not enough memory", "end what else runs");
  return 0;
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

static const unsigned char *start_of(const tw_gpu_constant *one) {
  return one->data ? one->data : weights + one->offset;
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

/* ---- memory of the caller's ------------------------------------------------------------------------------------- */

/* Whether a pointer is to GPU memory. If so, waits for the default stream, which may still write to it. */
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

/* A buffer in host memory that is kept from call to call. */
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
  if (here) wait_for_default_stream();
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
  address place = 0;
  char purpose[80];
  take();
  if (open_driver()) {
    snprintf(purpose, sizeof purpose, "an array needs %lu bytes", bytes);
    allocated(&place, bytes, purpose, "let go of other arrays there, or end what else uses it (see `nvidia-smi`)");
  }
  leave();
  return (void *)(uintptr_t)place;
}

void tw_gpu_release(void *given) {
  take();
  if (stream && use_context()) cuda.release((address)(uintptr_t)given);
  leave();
}

int tw_gpu_copy(void *to, const void *from, unsigned long bytes) {
  take();
  if (open_driver()) wait_for_default_stream();
  if (!failed) done(cuda.download(to, (address)(uintptr_t)from, bytes, stream), "copy an array");
  if (!failed) done(cuda.wait(stream), "copy an array");
  return leave();
}

int tw_gpu_after(void *others) {
  take();
  if (open_driver()) done(cuda.wait(others), "wait for a stream");
  return leave();
}

/* ---- launching -------------------------------------------------------------------------------------------------- */

static int mode(void) { return network->in_order ? record->calls : LOADING; }

static int is_in_arena(const void *pointer) {
  const unsigned char *const at = pointer;
  return at >= arena && at < arena + memory->arena_bytes;
}

static address translated(const void *pointer) {
  const unsigned char *const at = pointer;
  if (!at) return 0;
  if (is_in_arena(at)) return state->memory + (address)(at - arena);
  for (int32_t i = 0; i < memory->constant_count; i++) {
    const unsigned char *const start = start_of(&memory->constants[i]);
    if (at >= start && at < start + memory->constants[i].bytes) {
      return own->constants + own->offsets[i] + (address)(at - start);
    }
  }
  fail("a kernel is given something that the GPU does not have", "please report it");
  return 0;
}

/* Adapts a line of PTX to this GPU: leaves out what other GPUs know, or declares the code for this one. */
static const char *line_here(const char *line) {
  const int is_hopper = overlaps && capability == 90;
  if (overlaps && strncmp(line, ".version ", 9) == 0) return ".version 8.0\n";
  if (overlaps && strncmp(line, ".target ", 8) == 0) return is_hopper ? ".target sm_90a\n" : ".target sm_90\n";
  if (!is_hopper && strstr(line, "wgmma")) return "";
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

static void load(tw_gpu_code *code) {
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
    if (overlaps) done(cuda.get(&code->own_shared_bytes, OWN_SHARED_BYTES, function), "say what a kernel shares");
    /* All kernels use the same split of L1 and shared memory, so that a kernel can start while another still runs. */
    done(cuda.set(function, PART_SHARED, ALL_SHARED), "share memory of a multiprocessor");
    code->function = function;
  }
}

/* Whether a kernel reads only constants before the previous launch has ended. */
static int may_overlap(const tw_gpu_shape *shape, const void *const *pointers, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    if (shape->early >> i & 1 && is_in_arena(pointers[i])) return 0;
  }
  return overlaps;
}

enum {
  MOST_PLACED = 8,       /* groups on a multiprocessor that are made even */
  UNIT_OF_SHARED = 128,
  LEFT_BY_CLUSTERS = 4   /* the part of the multiprocessors that clusters may leave without a group */
};

/* What a group of a launch that may begin early shares. Such groups go where there is room at that moment, which may be
 * on few multiprocessors: they share so much that no more of them fit on one than there must be. */
static unsigned bytes_for_even_groups(const tw_gpu_code *code, const tw_gpu_shape *shape) {
  const long groups = (long)shape->groups[0] * shape->groups[1] * shape->groups[2];
  const int is_cluster = shape->clustered && shape->groups[2] > 1;
  const long reached = multiprocessors - (is_cluster ? multiprocessors / LEFT_BY_CLUSTERS : 0);
  const long placed = (groups + reached - 1) / reached;
  const long others = code->own_shared_bytes + lost_shared_bytes;
  const long bytes = shared_bytes / (placed + 1) + UNIT_OF_SHARED - others;
  const long most = most_shared_bytes - code->own_shared_bytes, own = shape->dynamic_bytes;
  if (placed > MOST_PLACED || 2 * groups < multiprocessors || bytes <= own) return (unsigned)own;
  return (unsigned)(bytes < most ? bytes : most);
}

/* Whether groups of a kernel may share so many bytes besides their own. */
static int may_share(tw_gpu_code *code, unsigned bytes) {
  if (bytes <= (unsigned)code->most_bytes) return 1;
  if (!done(cuda.set(code->function, DYNAMIC_BYTES, (int)bytes), "share memory of a multiprocessor")) return 0;
  code->most_bytes = (int32_t)bytes;
  return 1;
}

static int launched(tw_gpu_code *code, const tw_gpu_shape *shape, int may_begin_early, void **arguments) {
  const unsigned x = (unsigned)shape->groups[0], y = (unsigned)shape->groups[1], z = (unsigned)shape->groups[2];
  const unsigned items = (unsigned)shape->items;
  const unsigned bytes = may_begin_early ? bytes_for_even_groups(code, shape) : (unsigned)shape->dynamic_bytes;
  launch_attribute attributes[2] = {{OVERLAP, 0, {1}}, {CLUSTER, 0, {1, 1, z}}};
  const int is_cluster = overlaps && shape->clustered && z > 1 && z <= TW_MOST_CLUSTERED;
  const launch_shape all = {{x, y, z}, {items, 1, 1}, bytes, stream, attributes + !may_begin_early,
                            (unsigned)(may_begin_early + is_cluster)};
  if (!may_share(code, bytes)) return SUCCESS; /* what failed is known */
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
/* Nanoseconds of the current layer's launches and copies; negative if there are none. */
static double taken = -1.0;

enum { REPEATS = 20 };

static void add_time(double nanoseconds) { taken = (taken < 0.0 ? 0.0 : taken) + nanoseconds; }

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* A graph that launches one kernel several times in sequence. */
static handle repeated(tw_gpu_code *code, const tw_gpu_shape *shape, const void *params, const void *const *pointers,
                       int32_t count) {
  handle captured = NULL, executable = NULL;
  if (!done(cuda.begin_capture(stream, CAPTURES_RELAXED), "record a graph")) return NULL;
  for (int i = 0; i < REPEATS; i++) launch_now(code, shape, params, pointers, count);
  if (!done(cuda.end_capture(stream, &captured), "record a graph")) return NULL;
  if (!failed) done(cuda.instantiate(&executable, captured, 0), "make a graph");
  cuda.forget_graph(captured);
  return failed ? NULL : executable;
}

/* Time of a kernel in a graph. The kernel may overwrite its inputs, so the arena is restored afterwards. */
static void measure(tw_gpu_code *code, const tw_gpu_shape *shape, const void *params, const void *const *pointers,
                    int32_t count) {
  float milliseconds = 0.0f;
  address saved = 0;
  const unsigned long bytes = memory->arena_bytes;
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
  if (!code->function) load(code);
#ifdef TW_LAYER_TIMES
  measure(code, shape, params, pointers, count);
#endif
  if (mode() == RECORDING && !failed && !is_capturing) {
    is_capturing = done(cuda.begin_capture(stream, CAPTURES_RELAXED), "record a graph");
  }
  if (!failed) launch_now(code, shape, params, pointers, count);
}

static void keep_graph(void) {
  handle captured = NULL, executable = NULL;
  is_capturing = 0;
  if (!done(cuda.end_capture(stream, &captured), "record a graph")) return;
  const int made = done(cuda.instantiate(&executable, captured, 0), "make a graph");
  cuda.forget_graph(captured);
  if (!made) return;
  if (record->graph_count == record->room) {
    handle *const more = realloc(record->graphs, sizeof *more * (size_t)(2 * record->room + 4));
    if (!more) {
      no_room_here();
      cuda.release_graph(executable);
      return;
    }
    record->graphs = more;
    record->room = 2 * record->room + 4;
  }
  record->graphs[record->graph_count++] = executable;
}

/* What was launched since the last copy. */
static void run_graph(void) {
  if (is_capturing) keep_graph();
  if (!failed && has_launched && mode() != LOADING && graph < record->graph_count) {
    done(cuda.launch_graph(record->graphs[graph++], stream), "launch a graph");
  }
  has_launched = 0;
}

/* Times are not measured if there is no room for a copy of the arena. */
static void remember_input(address place, unsigned long bytes) {
  brought *const more = realloc(record->inputs, sizeof *more * (size_t)(record->input_count + 1));
  address copy = 0;
  if (more) record->inputs = more;
  if (!more || cuda.allocate(&copy, bytes) != SUCCESS) {
    record->lacks_inputs = 1;
    return;
  }
  const brought made = {place, copy, bytes, record->graph_count};
  record->inputs[record->input_count++] = made;
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

/* Runs on its own stream, which waits for the event, while the other stream continues. */
static void download(handle ready, const void *from, void *to, unsigned long bytes) {
  const address place = translated(from);
  const int stays = !is_in_arena(to) && is_on_gpu(to);
  if (failed) return;
  if (stays) {
    /* Does not block. Later launches may overwrite the copied memory, so they wait for the copy. */
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
  if (failed && record->calls != REPLAYING) {
    while (record->graph_count) cuda.release_graph(record->graphs[--record->graph_count]);
    forget_inputs(record);
  }
  if (!failed && record->calls != REPLAYING) record->calls++;
  return leave();
}

/* Copies all states to one buffer, or back. */
static void save_kept(const tw_gpu_network *of, const on_gpu_arena *from, address saved, int back) {
  unsigned long at = 0;
  for (int32_t i = 0; i < of->kept_count && !failed; i++) {
    const tw_gpu_kept one = of->kept[i];
    const address kept = from->memory + one.offset, copy = saved + at;
    if (one.bytes) done(cuda.copy(back ? kept : copy, back ? copy : kept, one.bytes, stream), "copy a state");
    at += whole(one.bytes);
  }
}

/* Repeats the copies that the recorded call made before a graph, and launches the graph if asked to. */
static void launch_again(const recorded *of, int at, int computes) {
  for (int i = 0; i < of->input_count && !failed; i++) {
    const brought one = of->inputs[i];
    if (one.graph == at) done(cuda.copy(one.place, one.copy, one.bytes, stream), "copy an input");
  }
  if (!failed && computes) done(cuda.launch_graph(of->graphs[at], stream), "launch a graph");
}

static float time_of_graphs(const recorded *last, int repeats, int computes) {
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

/* The arena that was opened last. */
static const on_gpu_arena *last_arena(const tw_gpu_network *called) {
  const on_gpu *const made = called->memory->state;
  return made ? made->arenas : NULL;
}

static const recorded *record_of(const on_gpu_arena *at, const tw_gpu_network *called) {
  const recorded *found = at ? at->records : NULL;
  while (found && found->of != called) found = found->next;
  return found;
}

double tw_gpu_measured(const tw_gpu_network *called, int repeats) {
  address saved = 0;
  unsigned long bytes = 0;
  float milliseconds = 0.0f;
  take();
  const on_gpu_arena *const at = last_arena(called);
  const recorded *const last = record_of(at, called);
  failed = !last || last->calls != REPLAYING || last->graph_count == 0 || last->lacks_inputs || repeats < 1;
  for (int32_t i = 0; i < called->kept_count; i++) bytes += whole(called->kept[i].bytes);
  if (!failed) use_context();
  if (!failed && bytes) allocated(&saved, bytes, "states are copied while time is measured", "end what else uses it");
  if (!failed) {
    save_kept(called, at, saved, 0);
    milliseconds = time_of_graphs(last, repeats, 1) - time_of_graphs(last, repeats, 0);
    save_kept(called, at, saved, 1);
    if (!failed) done(cuda.wait(stream), "compute");
  }
  if (saved) cuda.release(saved);
  return leave() ? -1.0 : (double)milliseconds * 1e3 / repeats;
}

#else

/* C knows no empty file. */
typedef int tw_gpu_not_by_cuda;

#endif
