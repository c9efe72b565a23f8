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

#include "gpu_cuda_caller.h"

static int mode(void) { return network->in_order ? record->calls : LOADING; }

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
  const handle ready = failed || !bytes ? NULL : event_of(key);
  if (ready) TIMED(download(ready, from, to, bytes));
  clear_if_failed(to, bytes);
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
static void save_kept(const tw_gpu_network *of, const on_device_arena *from, address saved, int back) {
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
static const on_device_arena *last_arena(const tw_gpu_network *called) {
  const on_device *const made = called->memory->state;
  return made ? made->arenas : NULL;
}

static const recorded *record_of(const on_device_arena *at, const tw_gpu_network *called) {
  const recorded *found = at ? at->records : NULL;
  while (found && found->of != called) found = found->next;
  return found;
}

double tw_gpu_measured(const tw_gpu_network *called, int repeats) {
  address saved = 0;
  unsigned long bytes = 0;
  float milliseconds = 0.0f;
  take();
  const on_device_arena *const at = last_arena(called);
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
