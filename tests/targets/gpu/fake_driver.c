/* Stands for the driver of a GPU in tests. Its memory is of this machine, but not where the arena is; kernels are
 * functions of the library that FAKE_KERNELS names, by the names of their entries, and do nothing without one. What
 * FAKE names fails; with FAKE_TALKS everything that is waited for is told. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;
enum { MOST = 16, MOST_PIECES = 256 };

typedef struct {
  void (*called)(const void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                 void *);
  int pointers; /* besides the parameters */
  size_t params_bytes;
  int dynamic; /* bytes */
} kernel;
typedef struct {
  unsigned groups[3], items[3], shared;
  void *stream;
  struct {
    int name;
    unsigned unused, value[16];
  } * attributes;
  unsigned count;
} shape;
typedef struct launch {
  const kernel *function;
  void *params;
  void *pointers[MOST];
  struct launch *next;
} launch;
typedef struct {
  launch *first, **end;
} graph;
static struct {
  address start;
  size_t bytes;
} pieces[MOST_PIECES];
static int launches, graphs, loads_in_capture;
static graph *recorded;
size_t fake_allocated;
int fake_loads; /* of code, which may be several kernels */
__thread int fake_contexts; /* that the thread has on top of its own */

static int fails(const char *what) {
  const char *const asked = getenv("FAKE");
  return asked && strcmp(asked, what) == 0;
}

int cuInit(unsigned flags) { return flags || fails("no device") ? 100 : 0; }
int cuDriverGetVersion(int *version) { return *version = fails("old driver") || fails("driver of CUDA 12") ? 12020 : 13000, 0; }
int cuGetErrorString(int error, const char **text) { return *text = error == 700 ? "illegal address" : "other", 0; }
int cuDeviceGet(int *device, int number) { return *device = number, 0; }
int cuDeviceGetName(char *name, int bytes, int device) { return snprintf(name, (size_t)bytes, "GPU %d", device), 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
  case 13: return *value = 1000000, 0; /* kHz */
  case 16: return *value = 10, 0;      /* multiprocessors */
  case 36: return *value = 500000, 0;  /* kHz of the memory */
  case 37: return *value = 800, 0;     /* bits */
  case 75: return *value = fails("old device") ? 6 : fails("older device") ? 8 : 9, 0;
  case 81: return *value = 233472, 0; /* bytes that groups of a multiprocessor share */
  case 97: return *value = 232448, 0; /* of a group */
  case 111: return *value = 1024, 0;
  default: return *value = device, 0;
  }
}
int fake_retained; /* contexts, streams and events that are open */
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &launches + device, fake_retained++, 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return fake_retained--, device; }
int cuCtxPushCurrent_v2(void *context) { return fake_contexts++, context ? 0 : 1; }
int cuCtxPopCurrent_v2(void **context) { return *context = &launches, fake_contexts-- > 0 ? 0 : 1; }
int cuMemGetInfo_v2(size_t *left, size_t *all) { return *left = 1000, *all = 2000, 0; }
int cuMemAlloc_v2(address *memory, size_t bytes) {
  int at = 0;
  if (fails("no memory") || (fails("little memory") && bytes > 100)) return 2;
  while (pieces[at].start) at++;
  pieces[at].start = *memory = (address)(size_t)calloc(1, bytes);
  pieces[at].bytes = bytes;
  fake_allocated += bytes;
  return 0;
}
int cuMemFree_v2(address memory) {
  for (int at = 0; at < MOST_PIECES; at++) {
    if (pieces[at].start != memory) continue;
    fake_allocated -= pieces[at].bytes;
    pieces[at].start = 0;
    return free((void *)(size_t)memory), 0;
  }
  return 1;
}
size_t fake_buffers; /* of this machine, that a GPU reads itself */
int fake_opened; /* as many of them as there ever were */
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static void count_buffers(size_t more) {
  pthread_mutex_lock(&counting);
  fake_buffers += more;
  fake_opened += more == 1;
  pthread_mutex_unlock(&counting);
}
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  if (fails("no buffers")) return 2;
  count_buffers(1);
  return *memory = malloc(bytes), flags;
}
int cuMemFreeHost(void *memory) { return count_buffers((size_t)-1), free(memory), 0; }
int cuPointerGetAttribute(int *value, int attribute, address pointer) {
  for (int at = 0; at < MOST_PIECES; at++) {
    if (!pieces[at].start || pointer < pieces[at].start || pointer >= pieces[at].start + pieces[at].bytes) continue;
    *value = attribute == 2 ? 2 : fails("other device");
    return 0;
  }
  return 1;
}
/* A copy inside of the memory happens as late as streams and events allow. */
typedef struct late {
  void *stream, *to;
  const void *from;
  size_t bytes;
  struct late *next;
} late;
typedef struct {
  void *stream; /* that it was recorded on */
  int graphs;   /* that had been launched then */
} event;
static late *first_late, **last_late = &first_late;

static void catch_up(const void *stream) {
  for (late **at = &first_late; *at;) {
    late *const one = *at;
    if (one->stream != stream) {
      at = &one->next;
      continue;
    }
    memmove(one->to, one->from, one->bytes);
    *at = one->next;
    if (last_late == &one->next) last_late = at;
    free(one);
  }
}
static int copied(void *to, const void *from, size_t bytes, void *stream) {
  catch_up(stream);
  return memcpy(to, from, bytes), stream && !recorded ? 0 : 1;
}
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *stream) {
  return copied((void *)(size_t)to, from, bytes, stream);
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *stream) {
  return copied(to, (void *)(size_t)from, bytes, stream);
}
int cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, void *stream) {
  late *const made = calloc(1, sizeof *made);
  *made = (late){stream, (void *)(size_t)to, (void *)(size_t)from, bytes, NULL};
  *last_late = made;
  last_late = &made->next;
  return stream ? 0 : 1;
}
/* Every second one that is asked for. */
static int fails_second(const char *what) {
  static int asked;
  return fails(what) && ++asked % 2 == 0;
}
int cuStreamCreate(void **stream, unsigned flags) {
  if (fails_second("no second stream")) return 2;
  return *stream = calloc(1, 1), fake_retained++, flags != 1;
}
int cuStreamDestroy_v2(void *stream) { return fake_retained--, free(stream), 0; }
int cuStreamSynchronize(void *stream) {
  catch_up(stream);
  if (getenv("FAKE_TALKS")) {
    printf("%d launches, %d graphs, %d loads while recording\n", launches, graphs, loads_in_capture);
  }
  return !stream ? 1 : fails("lost") && launches ? 700 : 0;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

int cuModuleLoadDataEx(void **made, const char *code, unsigned options, int *names, void **values) {
  const int is_together = options == 3 && names[2] == 34;
  if (fails("old driver")) return 222;
  if (fails("bad code") || (fails("bad together") && is_together)) strcpy(values[0], "ptxas: line 7");
  if (*(char *)values[0]) return 218;
  fake_loads++;
  loads_in_capture += recorded != NULL;
  *made = strdup(code);
  const int is_new = strncmp(code, ".version 8.0\n", 13) == 0 && strstr(code, "\n.target sm_90a\n");
  const int is_old = strncmp(code, ".version 7.0\n", 13) == 0 && !strstr(code, "griddepcontrol") && !strstr(code, "cluster") && !strstr(code, "wgmma");
  const int is_one = !strstr(code + 1, ".version");
  return (fails("older device") ? is_old : is_new) && is_one && (options == 2 || is_together) ? 0 : 200;
}
/* How many pointers, and bytes of parameters, a kernel of a module has. */
static void find_parameters(kernel *of, const char *code, const char *name) {
  char entry[256];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  const char *at = strstr(code, entry), *const end = strchr(at, ')');
  of->params_bytes = (size_t)atol(strchr(at, '[') + 1);
  while ((at = strstr(at, ".param ")) && at < end) at++, of->pointers++;
  of->pointers--;
}
int cuModuleGetFunction(void **function, void *from, const char *name) {
  const char *const library = getenv("FAKE_KERNELS");
  char called[256];
  kernel *const made = calloc(1, sizeof *made);
  void *found = NULL;
  snprintf(called, sizeof called, "part_%s", name);
  if (library) found = dlsym(dlopen(library, RTLD_NOW), called);
  snprintf(called, sizeof called, "tw_%s", name);
  if (library && !found && !(found = dlsym(dlopen(library, RTLD_NOW), called))) return 500;
  memcpy(&made->called, &found, sizeof found);
  find_parameters(made, from, name);
  return *function = made, 0;
}
static void run(const launch *one) {
  void *const *const p = one->pointers;
  if (one->function->called) {
    one->function->called(one->params, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11]);
  }
}
int cuFuncSetAttribute(kernel *function, int attribute, int value) {
  return attribute == 8 ? function->dynamic = value, 0 : attribute == 9 && value == 100 ? 0 : 1;
}
int cuFuncGetAttribute(int *value, int attribute, kernel *function) {
  return *value = function ? 64 : 0, attribute == 1 ? 0 : 1;
}
int cuLaunchKernel(kernel *function, unsigned x, unsigned y, unsigned z, unsigned items, unsigned items_y,
                   unsigned items_z, unsigned shared, void *stream, void **arguments, void **more) {
  launch *const made = calloc(1, sizeof *made);
  if (!function || !(x * y * z) || !items || items_y * items_z != 1 || !stream || more) return 1;
  if ((int)shared > function->dynamic) return 1;
  launches++;
  if (!recorded) catch_up(stream);
  made->function = function;
  made->params = malloc(made->function->params_bytes);
  memcpy(made->params, arguments[0], made->function->params_bytes);
  for (int i = 0; i < made->function->pointers; i++) memcpy(&made->pointers[i], arguments[i + 1], sizeof(void *));
  if (recorded) {
    *recorded->end = made;
    recorded->end = &made->next;
  } else {
    run(made);
    free(made->params);
    free(made);
  }
  return 0;
}
/* Whether so few groups fit on one of the ten multiprocessors that all have as many, but for those of clusters. */
static int are_even(const shape *s) {
  const unsigned groups = s->groups[0] * s->groups[1] * s->groups[2];
  const unsigned reached = s->count > 1 ? 8 : 10, placed = (groups + reached - 1) / reached;
  return placed > 8 || groups < 5 || (s->shared + 64 + 1024) * (placed + 1) > 233472;
}
int cuLaunchKernelEx(const shape *s, kernel *function, void **arguments, void **more) {
  for (unsigned i = 0; i < s->count; i++) {
    const unsigned *const value = s->attributes[i].value;
    if (s->attributes[i].name == 6 ? value[0] != 1 : value[0] * value[1] != 1 || value[2] != s->groups[2]) return 1;
    if (s->attributes[i].name == 6 && !are_even(s)) return 1;
  }
  return cuLaunchKernel(function, s->groups[0], s->groups[1], s->groups[2], s->items[0], s->items[1], s->items[2],
                        s->shared, s->stream, arguments, more);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

int cuStreamBeginCapture_v2(void *stream, int mode) {
  recorded = calloc(1, sizeof *recorded);
  recorded->end = &recorded->first;
  return !stream || mode != 2;
}
int cuStreamEndCapture(void *stream, void **made) {
  *made = recorded;
  recorded = NULL;
  return stream ? 0 : 1;
}
int cuGraphInstantiateWithFlags(void **made, void *from, address flags) { return *made = from, flags ? 1 : 0; }
int cuGraphLaunch(void *made, void *stream) {
  graphs++;
  catch_up(stream);
  for (const launch *one = ((const graph *)made)->first; one; one = one->next) run(one);
  return stream ? 0 : 1;
}
int cuGraphDestroy(void *unused) { return unused ? 0 : 1; }
int cuGraphExecDestroy(void *made) { return made ? 0 : 1; }
int cuEventCreate(void **made, unsigned flags) {
  if (fails_second("no second event")) return 2;
  return *made = calloc(1, sizeof(event)), fake_retained++, flags;
}
int cuEventDestroy_v2(void *made) { return fake_retained--, free(made), 0; }
int cuEventRecord(void *made, void *stream) { return *(event *)made = (event){stream, graphs}, 0; }
int cuStreamWaitEvent(void *stream, void *made, unsigned flags) {
  catch_up(((event *)made)->stream);
  return stream && !flags ? 0 : 1;
}
int cuEventSynchronize(void *made) {
  catch_up(((event *)made)->stream);
  return fails("lost") && launches ? 700 : 0;
}
/* A millisecond, if anything was launched as a graph. */
int cuEventElapsedTime(float *milliseconds, const event *first, const event *last) {
  return *milliseconds = last->graphs > first->graphs, 0;
}
