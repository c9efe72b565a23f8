/* The runtime on any GPU whose driver has OpenCL 1.2 or newer, which is looked for when the first network runs.
 *
 * Kernels are OpenCL C, which the driver compiles when one is launched first; what it made of them is kept in a folder
 * for the next time. A GPU's device is taken, or the one that TILEWRIGHT_OPENCL_DEVICE names (a part of its name,
 * "cpu" for one that is no GPU). One thread at a time is between begin and end. */
#include "prefix.h"

#include "gpu_runtime.h"

#if defined(TW_GPU_BY_OPENCL) && !defined(TW_GPU_HOST)

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu_opencl_driver.h"

/* ---- state ------------------------------------------------------------------------------------------------------- */

/* What the device has for an arena. */
typedef struct on_device_arena {
  const unsigned char *owner; /* the caller's arena; NULL where all share it */
  handle memory;
  struct on_device_arena *next;
} on_device_arena;

/* Device memory shared by networks with the same constants: one buffer per constant, because devices limit the size of a
 * buffer. */
typedef struct on_device {
  const unsigned char *weights; /* that calls give */
  handle *constants;
  on_device_arena *arenas;
  struct on_device *next;
} on_device;

/* What it has of a kernel. */
typedef struct {
  handle kernel;
  handle own; /* memory from launch to launch; zeros at first */
} loaded_code;

typedef struct {
  handle memory;
  uint64_t offset;
} place;

enum { MOST_POINTERS = 32, MOST_DEVICES = 16, LONGEST_NAME = 256, LONGEST_PATH = 1024 };

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static handle context, queue, device;
static char device_name[LONGEST_NAME], driver[LONGEST_NAME];
static char options[128];
static int has_doubles;
static const tw_gpu_network *network;
static const tw_gpu_memory *memory;
static on_device *own;
static on_device_arena *state;
static const unsigned char *arena, *weights;
static int failed;
static char said[4096] = "nothing has failed";

static void fail(const char *what, const char *hint) {
  if (failed) return;
  failed = 1;
  snprintf(said, sizeof said, "%s\n%s", what, hint);
}

/* Whether a driver call has succeeded. */
static int done(int code, const char *what) {
  char line[512];
  if (code == SUCCESS) return 1;
  snprintf(line, sizeof line, "the driver of %s fails to %s: OpenCL's error %d", device ? device_name : "OpenCL", what,
           code);
  fail(line, "see whether `clinfo` shows the device; `--target cpu` needs none");
  return 0;
}

const char *tw_gpu_failure(void) { return said; }

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static int find_functions(void) {
  char line[256];
  void *library = NULL;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !library; i++) {
    library = dlopen(libraries[i], RTLD_NOW | RTLD_GLOBAL);
  }
  if (!library) {
    fail("there is no OpenCL on this machine: libOpenCL.so.1 is not found",
         "install the GPU's OpenCL driver (Debian: ocl-icd-libopencl1 with intel-opencl-icd, mesa-opencl-icd or the "
         "vendor's), or compile with --target cpu; with cmake -DGPU_ON_HOST=ON the kernels are C for this machine");
    return 0;
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *const found = dlsym(library, functions[i].name);
    if (!found) {
      snprintf(line, sizeof line, "the OpenCL on this machine is too old: it has no %s", functions[i].name);
      fail(line, "install one of version 1.2 or newer, or compile with --target cpu");
      return 0;
    }
    memcpy(functions[i].pointer, &found, sizeof found);
  }
  return 1;
}

/* Text that the device says of itself. */
static void ask(handle one, unsigned name, char *text, size_t room) {
  text[0] = '\0';
  cl.device_info(one, name, room - 1, text, NULL);
  text[room - 1] = '\0';
}

static int is_wanted(handle one, const char *wanted) {
  char name[LONGEST_NAME];
  bits type = 0;
  cl.device_info(one, DEVICE_TYPE, sizeof type, &type, NULL);
  if (!wanted || !wanted[0]) return (type & (GPU | ACCELERATOR)) != 0;
  if (strcmp(wanted, "cpu") == 0) return (type & CPU) != 0;
  ask(one, DEVICE_NAME, name, sizeof name);
  return strstr(name, wanted) != NULL;
}

/* The first device that matches; `others` gets the names of the rest. */
static handle found_device(const char *wanted, char *others, size_t room) {
  handle platforms[MOST_DEVICES], devices[MOST_DEVICES];
  unsigned platform_count = 0, count = 0;
  if (cl.platforms(MOST_DEVICES, platforms, &platform_count) != SUCCESS) platform_count = 0;
  for (unsigned p = 0; p < platform_count && p < MOST_DEVICES; p++) {
    if (cl.devices(platforms[p], EVERY_DEVICE, MOST_DEVICES, devices, &count) != SUCCESS) continue;
    for (unsigned d = 0; d < count && d < MOST_DEVICES; d++) {
      if (is_wanted(devices[d], wanted)) return devices[d];
      char name[LONGEST_NAME];
      const size_t length = strlen(others);
      ask(devices[d], DEVICE_NAME, name, sizeof name);
      snprintf(others + length, room - length, "%s%s", length ? ", " : "", name);
    }
  }
  return NULL;
}

static int choose_device(void) {
  char others[1024] = "", line[1400];
  const char *const wanted = getenv("TILEWRIGHT_OPENCL_DEVICE");
  device = found_device(wanted, others, sizeof others);
  if (device) return 1;
  if (wanted && wanted[0]) {
    snprintf(line, sizeof line, "OpenCL has no device '%s' (TILEWRIGHT_OPENCL_DEVICE) here, but: %s", wanted,
             others[0] ? others : "none");
  } else {
    snprintf(line, sizeof line, "OpenCL finds no GPU%s%s", others[0] ? ", but: " : "", others);
  }
  fail(line, others[0] ? "TILEWRIGHT_OPENCL_DEVICE=cpu takes one that is no GPU; or compile with --target cpu"
                       : "see what `clinfo` says, or compile with --target cpu");
  return 0;
}

static int open_device(void) {
  static char extensions[16384];
  bits floats = 0, type = 0;
  int code = SUCCESS;
  if (!choose_device()) return 0;
  ask(device, DEVICE_NAME, device_name, sizeof device_name);
  ask(device, DRIVER, driver, sizeof driver);
  ask(device, EXTENSIONS, extensions, sizeof extensions);
  has_doubles = strstr(extensions, "cl_khr_fp64") != NULL;
  cl.device_info(device, SINGLE_FLOATS, sizeof floats, &floats, NULL);
  cl.device_info(device, DEVICE_TYPE, sizeof type, &type, NULL);
  /* pocl 3.1 computes attention wrongly when it optimises. CPU devices are for tests only. */
  snprintf(options, sizeof options, "-cl-std=CL1.2%s%s",
           floats & ROUNDS_DIVISIONS ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
           type & CPU ? " -cl-opt-disable" : "");
  context = cl.context(NULL, 1, &device, NULL, NULL, &code);
  if (!done(code, "open it")) return 0;
  queue = cl.queue(context, device, 0, &code);
  return done(code, "make a queue");
}

static int open_driver(void) { return queue || (find_functions() && open_device()); }

/* An array on the device. */
static handle allocated(unsigned long bytes, unsigned long all) {
  char line[512];
  bits available = 0, largest = 0;
  int code = SUCCESS;
  handle made = NULL;
  cl.device_info(device, MEMORY_BYTES, sizeof available, &available, NULL);
  cl.device_info(device, LARGEST_BUFFER, sizeof largest, &largest, NULL);
  if (all <= available && bytes <= largest) made = cl.buffer(context, READ_WRITE, bytes ? bytes : 1, NULL, &code);
  if (made && code == SUCCESS) return made;
  if (code != SUCCESS && code != CANNOT_ALLOCATE && code != TOO_LARGE && !done(code, "allocate memory")) return NULL;
  snprintf(line, sizeof line,
           "%s has not enough memory: the network needs %lu bytes, %lu of them in one array; it has %llu, and %llu for "
           "one array", device_name, all, bytes, available, largest);
  fail(line, "compile a smaller input (--dim, --context), or --target cpu");
  return NULL;
}

static int no_room_here(void) {
  fail("this machine has not enough memory", "end what else runs");
  return 0;
}

static void close_arena(on_device_arena *made) {
  if (made->memory) cl.release(made->memory);
  free(made);
}

static void close_network(on_device *made, int32_t constant_count) {
  while (made->arenas) {
    on_device_arena *const first = made->arenas;
    made->arenas = first->next;
    close_arena(first);
  }
  for (int32_t i = 0; i < constant_count; i++) {
    if (made->constants[i]) cl.release(made->constants[i]);
  }
  free(made->constants);
  free(made);
}

static unsigned long network_bytes(void) {
  unsigned long all = memory->arena_bytes;
  for (int32_t i = 0; i < memory->constant_count; i++) all += memory->constants[i].bytes;
  return all;
}

static const unsigned char *start_of(const tw_gpu_constant *one) {
  return one->data ? one->data : weights + one->offset;
}

/* Constants are brought to the device once. */
static int upload_constants(on_device *made) {
  const unsigned long all = network_bytes();
  for (int32_t i = 0; i < memory->constant_count; i++) {
    const tw_gpu_constant *const one = &memory->constants[i];
    made->constants[i] = allocated(one->bytes, all);
    if (failed) return 0;
    if (one->bytes &&
        !done(cl.write(queue, made->constants[i], WAITS, 0, one->bytes, start_of(one), 0, NULL, NULL), "copy weights")) {
      return 0;
    }
  }
  return 1;
}

static on_device *opened_network(void) {
  on_device *const made = calloc(1, sizeof *made);
  if (made) made->constants = calloc((size_t)memory->constant_count + 1, sizeof *made->constants);
  if (!made || !made->constants) {
    no_room_here();
    free(made);
    return NULL;
  }
  made->weights = weights;
  if (upload_constants(made)) {
    made->next = network->memory->state;
    return network->memory->state = made;
  }
  close_network(made, memory->constant_count);
  return NULL;
}

/* States are zero before the first call. */
static int cleared(const on_device_arena *made) {
  static const unsigned char zeros[1 << 16];
  for (int32_t i = 0; i < network->kept_count; i++) {
    const tw_gpu_kept one = network->kept[i];
    for (unsigned long at = 0; at < one.bytes; at += sizeof zeros) {
      const unsigned long left = one.bytes - at, bytes = left < sizeof zeros ? left : sizeof zeros;
      if (!done(cl.write(queue, made->memory, WAITS, one.offset + at, bytes, zeros, 0, NULL, NULL), "clear a state")) {
        return 0;
      }
    }
  }
  return 1;
}

static on_device_arena *opened_arena(const unsigned char *owner) {
  on_device_arena *const made = calloc(1, sizeof *made);
  if (!made) return no_room_here(), NULL;
  made->owner = owner;
  made->memory = allocated(memory->arena_bytes, network_bytes());
  if (failed || !cleared(made)) {
    close_arena(made);
    return NULL;
  }
  made->next = own->arenas;
  return own->arenas = made;
}

static on_device_arena *found_arena(const unsigned char *host_arena) {
  const unsigned char *const owner = network->kept_count ? host_arena : NULL;
  on_device_arena *found = own->arenas;
  while (found && found->owner != owner) found = found->next;
  return found ? found : opened_arena(owner);
}

static on_device *found_constants(void) {
  on_device *found = memory->state;
  while (found && found->weights != weights) found = found->next;
  return found ? found : opened_network();
}

/* From here to `leave`, one thread owns the device. */
static int enter(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given) {
  pthread_mutex_lock(&busy);
  network = called;
  memory = called->memory;
  arena = host_arena;
  weights = given;
  own = NULL;
  state = NULL;
  failed = 0;
  if (open_driver()) own = found_constants();
  if (!failed) state = found_arena(host_arena);
  return !failed;
}

static int leave(void) {
  const int result = failed ? TW_GPU_FAILED : 0;
  pthread_mutex_unlock(&busy);
  return result;
}

int tw_gpu_has_failed(void) { return failed; }

int tw_gpu_begin(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given) {
  return enter(called, host_arena, given) ? 0 : leave();
}

int tw_gpu_fetch(const tw_gpu_network *called, unsigned char *host_arena, const unsigned char *given) {
  if (enter(called, host_arena, given)) {
    for (int32_t i = 0; i < network->kept_count && !failed; i++) {
      const tw_gpu_kept one = network->kept[i];
      if (!one.bytes) continue;
      done(cl.read(queue, state->memory, WAITS, one.offset, one.bytes, host_arena + one.offset, 0, NULL, NULL),
           "copy a state");
    }
  }
  return leave();
}

int tw_gpu_keep(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given) {
  if (enter(called, host_arena, given)) {
    for (int32_t i = 0; i < network->kept_count && !failed; i++) {
      const tw_gpu_kept one = network->kept[i];
      if (!one.bytes) continue;
      done(cl.write(queue, state->memory, WAITS, one.offset, one.bytes, arena + one.offset, 0, NULL, NULL),
           "copy a state");
    }
  }
  return leave();
}

/* Removes an arena from a memory's list. */
static on_device_arena *removed_arena(const tw_gpu_memory *from, const unsigned char *owner) {
  for (on_device *made = from->state; made; made = made->next) {
    on_device_arena **at = &made->arenas;
    while (*at && (*at)->owner != owner) at = &(*at)->next;
    if (*at) {
      on_device_arena *const found = *at;
      *at = found->next;
      return found;
    }
  }
  return NULL;
}

static void forget_constants(tw_gpu_memory *from, const unsigned char *given) {
  on_device *last = NULL, *found = from->state;
  while (found && found->weights != given) {
    last = found;
    found = found->next;
  }
  if (!found) return;
  if (last) last->next = found->next;
  else from->state = found->next;
  close_network(found, from->constant_count);
}

void tw_gpu_forget(tw_gpu_memory *from, const unsigned char *host_arena, const unsigned char *given) {
  pthread_mutex_lock(&busy);
  on_device_arena *const found = host_arena ? removed_arena(from, host_arena) : NULL;
  if (found) close_arena(found);
  if (!host_arena) forget_constants(from, given);
  pthread_mutex_unlock(&busy);
}

/* ---- memory of the caller's: this machine's alone ---------------------------------------------------------------- */

const void *tw_gpu_input(const void *data, unsigned long bytes) {
  (void)bytes;
  return data;
}

void *tw_gpu_output(void *data, unsigned long bytes) {
  (void)bytes;
  return data;
}

static void refuse_arrays(void) {
  pthread_mutex_lock(&busy);
  failed = 0;
  fail("arrays of callers are in this machine's memory where OpenCL launches the kernels",
       "give arrays of this machine's memory");
  pthread_mutex_unlock(&busy);
}

void *tw_gpu_allocate(unsigned long bytes) {
  (void)bytes;
  refuse_arrays();
  return NULL;
}

void tw_gpu_release(void *given) { (void)given; }

int tw_gpu_copy(void *to, const void *from, unsigned long bytes) {
  (void)to, (void)from, (void)bytes;
  refuse_arrays();
  return TW_GPU_FAILED;
}

int tw_gpu_after(void *stream) {
  (void)stream;
  refuse_arrays();
  return TW_GPU_FAILED;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

/* Cache folder for compiled kernels, with a trailing slash; empty if there is none. */
static void cache_folder(char *path, size_t room) {
  static const char *const parts[] = {"/tilewright", "/opencl", "/"};
  const char *const cache = getenv("XDG_CACHE_HOME"), *const home = getenv("HOME");
  path[0] = '\0';
  if (cache && cache[0]) {
    snprintf(path, room, "%s", cache);
  } else if (home && home[0]) {
    snprintf(path, room, "%s/.cache", home);
  } else {
    return;
  }
  mkdir(path, 0700);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const size_t length = strlen(path);
    snprintf(path + length, room - length, "%s", parts[i]);
    mkdir(path, 0700);
  }
}

static uint64_t mixed(uint64_t hash, const char *text) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  return (hash ^ 255) * 1099511628211u;
}

/* File name of a compiled kernel: two hashes of the driver, the device, the options and the source. */
static void cached_file(const tw_gpu_code *code, const char *ending, char *path, size_t room) {
  uint64_t hashes[] = {14695981039346656037u, 7809847782465536322u};
  char folder[LONGEST_PATH];
  cache_folder(folder, sizeof folder);
  path[0] = '\0';
  if (!folder[0]) return;
  for (size_t h = 0; h < 2; h++) {
    hashes[h] = mixed(mixed(mixed(hashes[h], device_name), driver), options);
    for (int32_t i = 0; i < code->count; i++) hashes[h] = mixed(hashes[h], code->lines[i]);
  }
  snprintf(path, room, "%s%s-%016llx%016llx.%s", folder, code->name, (unsigned long long)hashes[0],
           (unsigned long long)hashes[1], ending);
}

/* A program that was kept, or nothing. */
static handle kept_program(const char *path) {
  FILE *const file = path[0] ? fopen(path, "rb") : NULL;
  handle program = NULL;
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  const long bytes = ftell(file);
  unsigned char *const binary = bytes > 0 ? malloc((size_t)bytes) : NULL;
  rewind(file);
  if (binary && fread(binary, 1, (size_t)bytes, file) == (size_t)bytes) {
    const unsigned char *const given = binary;
    const size_t size = (size_t)bytes;
    int status = SUCCESS, code = SUCCESS;
    program = cl.binary(context, 1, &device, &size, (const unsigned char **)&given, &status, &code);
    if (program && (code != SUCCESS || status != SUCCESS ||
                    cl.build(program, 1, &device, options, NULL, NULL) != SUCCESS)) {
      cl.forget_program(program);
      program = NULL;
    }
  }
  free(binary);
  fclose(file);
  return program;
}

/* Whole or not at all, whoever else writes it. */
static void write_file(const char *path, const void *data, size_t bytes) {
  char unfinished[LONGEST_PATH + 32];
  snprintf(unfinished, sizeof unfinished, "%s.%ld", path, (long)getpid());
  FILE *const file = path[0] ? fopen(unfinished, "wb") : NULL;
  if (!file) return;
  const size_t written = fwrite(data, 1, bytes, file);
  if (fclose(file) != 0 || written != bytes || rename(unfinished, path) != 0) remove(unfinished);
}

static void keep_program(handle program, const char *path) {
  size_t bytes = 0;
  if (!path[0] || cl.program_info(program, BINARY_SIZES, sizeof bytes, &bytes, NULL) != SUCCESS || !bytes) return;
  unsigned char *binary = malloc(bytes);
  if (binary && cl.program_info(program, BINARIES, sizeof binary, &binary, NULL) == SUCCESS) {
    write_file(path, binary, bytes);
  }
  free(binary);
}

/* The first line of a log that contains "error", or else its first line. */
static const char *first_error(char *log) {
  char *found = strstr(log, "error");
  while (found && found > log && found[-1] != '\n') found--;
  if (!found) found = log;
  found[strcspn(found, "\r\n")] = '\0';
  return found;
}

/* Writes the compiler's log of a kernel to a file. */
static void tell_log(const tw_gpu_code *code, handle program) {
  char path[LONGEST_PATH], line[2048];
  size_t bytes = 0;
  cl.build_info(program, device, BUILD_LOG, 0, NULL, &bytes);
  char *const log = calloc(1, bytes + 1);
  if (!log) {
    no_room_here();
    return;
  }
  cl.build_info(program, device, BUILD_LOG, bytes, log, NULL);
  cached_file(code, "log", path, sizeof path);
  write_file(path, log, strlen(log));
  snprintf(line, sizeof line, "the driver of %s cannot compile kernel %s: %.900s%s%.600s", device_name, code->name,
           first_error(log), path[0] ? "; all that it says is in " : "", path);
  fail(line, "please report it; a newer driver may help, and `--target cpu` needs none");
  free(log);
}

static int can_compute(const tw_gpu_code *code) {
  char line[512];
  if (has_doubles || !strstr(code->lines[0], "cl_khr_fp64")) return 1;
  snprintf(line, sizeof line, "kernel %s computes in floats of 64 bits, which %s does not have", code->name,
           device_name);
  fail(line, "compile with --target cpu, or for another GPU");
  return 0;
}

static handle built(const tw_gpu_code *code) {
  char path[LONGEST_PATH];
  int error = SUCCESS;
  cached_file(code, "bin", path, sizeof path);
  const handle known = kept_program(path);
  if (known) return known;
  const handle program = cl.source(context, (unsigned)code->count, (const char **)code->lines, NULL, &error);
  if (!done(error, "read a kernel")) return NULL;
  const int result = cl.build(program, 1, &device, options, NULL, NULL);
  if (result == SUCCESS) {
    keep_program(program, path);
    return program;
  }
  if (result == BUILD_FAILED) {
    tell_log(code, program);
  } else {
    done(result, "compile a kernel");
  }
  cl.forget_program(program);
  return NULL;
}

/* A kernel's private memory starts as zeros. */
static handle zeros(uint32_t bytes) {
  void *const none = calloc(1, bytes);
  const handle made = none ? allocated(bytes, bytes) : NULL;
  if (!none) no_room_here();
  if (made) done(cl.write(queue, made, WAITS, 0, bytes, none, 0, NULL, NULL), "copy zeros");
  free(none);
  return made;
}

/* Whether the device can run the kernel's work-groups. */
static int can_launch(const tw_gpu_code *code, handle kernel, size_t items) {
  char line[512];
  size_t most = 0;
  bits shared = 0, room = 0;
  cl.kernel_info(kernel, device, KERNEL_GROUP_SIZE, sizeof most, &most, NULL);
  cl.kernel_info(kernel, device, KERNEL_SHARED_BYTES, sizeof shared, &shared, NULL);
  cl.device_info(device, SHARED_BYTES, sizeof room, &room, NULL);
  if (most >= items && shared <= room) return 1;
  snprintf(line, sizeof line, "groups of kernel %s have %lu items that share %llu bytes, %s has groups of %lu and %llu bytes",
           code->name, (unsigned long)items, shared, device_name, (unsigned long)most, room);
  fail(line, "compile with --target cpu, or for another GPU");
  return 0;
}

/* A kernel with its memory, or nothing. */
static loaded_code *with_memory(const tw_gpu_code *code, handle kernel) {
  loaded_code *const made = calloc(1, sizeof *made);
  if (!made) return no_room_here(), NULL;
  made->kernel = kernel;
  if (code->own_bytes) made->own = zeros((uint32_t)code->own_bytes);
  if (!failed) return made;
  if (made->own) cl.release(made->own);
  free(made);
  return NULL;
}

static void load(tw_gpu_code *code, size_t items) {
  int error = SUCCESS;
  if (!can_compute(code)) return;
  const handle program = built(code);
  if (!program) return;
  const handle kernel = cl.kernel(program, "tw_kernel", &error);
  cl.forget_program(program); /* the kernel holds it */
  if (!done(error, "find a kernel")) return;
  if (can_launch(code, kernel, items)) code->function = with_memory(code, kernel);
  if (!code->function) cl.forget_kernel(kernel);
}

/* ---- launching -------------------------------------------------------------------------------------------------- */

static place translated(const void *pointer) {
  const unsigned char *const at = pointer;
  place found = {NULL, 0};
  if (!at) return found;
  if (at >= arena && at < arena + memory->arena_bytes) {
    found.memory = state->memory;
    found.offset = (uint64_t)(at - arena);
    return found;
  }
  for (int32_t i = 0; i < memory->constant_count; i++) {
    const unsigned char *const start = start_of(&memory->constants[i]);
    if (at >= start && at < start + memory->constants[i].bytes) {
      found.memory = own->constants[i];
      found.offset = (uint64_t)(at - start);
      return found;
    }
  }
  fail("a kernel is given something that the device does not have", "please report it");
  return found;
}

/* Arguments: parameters, buffers, offsets of the pointers in them, and the kernel's private memory. */
static int set_arguments(const tw_gpu_code *code, const void *params, uint32_t params_bytes,
                         const void *const *pointers, int32_t count) {
  const loaded_code *const loaded = code->function;
  uint64_t offsets[MOST_POINTERS];
  int error = cl.argument(loaded->kernel, 0, params_bytes, params);
  for (int32_t i = 0; i < count && !error; i++) {
    const place one = translated(pointers[i]);
    offsets[i] = one.offset;
    error = cl.argument(loaded->kernel, (unsigned)i + 1, sizeof one.memory, one.memory ? &one.memory : NULL);
  }
  if (!error) error = cl.argument(loaded->kernel, (unsigned)count + 1, sizeof *offsets * (size_t)count, offsets);
  if (!error && loaded->own) error = cl.argument(loaded->kernel, (unsigned)count + 2, sizeof loaded->own, &loaded->own);
  return done(error, "take arguments of a kernel");
}

void tw_gpu_launch(tw_gpu_code *code, const tw_gpu_shape *shape, const void *params, const void *const *pointers,
                   int32_t count) {
  const size_t group[] = {(size_t)shape->items, 1, 1};
  const size_t all[] = {(size_t)shape->groups[0] * group[0], (size_t)shape->groups[1], (size_t)shape->groups[2]};
  if (failed || all[0] == 0 || all[1] == 0 || all[2] == 0) return;
  if (!code->function) load(code, group[0]);
  if (failed || !set_arguments(code, params, shape->params_bytes, pointers, count) || failed) return;
  const loaded_code *const loaded = code->function;
  done(cl.launch(queue, loaded->kernel, 3, NULL, all, group, 0, NULL, NULL), "launch a kernel");
}

void tw_gpu_upload(const void *from, void *to, unsigned long bytes) {
  if (failed || !bytes) return;
  const place at = translated(to);
  if (!failed) done(cl.write(queue, at.memory, WAITS, at.offset, bytes, from, 0, NULL, NULL), "copy to the device");
}

/* Copies wait for all earlier launches. */
void tw_gpu_ask(const void *key) { (void)key; }

void tw_gpu_start(void) {
  if (!failed) done(cl.flush(queue), "start");
}

void tw_gpu_download(const void *key, const void *from, void *to, unsigned long bytes) {
  (void)key;
  if (failed || !bytes) return;
  const place at = translated(from);
  if (!failed) done(cl.read(queue, at.memory, WAITS, at.offset, bytes, to, 0, NULL, NULL), "copy from the device");
}

const void *tw_gpu_seen(const void *data, unsigned long bytes) {
  static unsigned char *copy;
  const unsigned char *const at = data;
  if (at < arena || at >= arena + memory->arena_bytes || failed) return data;
  unsigned char *const room = realloc(copy, bytes + 1);
  if (!room) return data;
  copy = room;
  tw_gpu_download(data, data, copy, bytes);
  return copy;
}

int tw_gpu_end(void) {
  if (!failed) done(cl.finish(queue), "compute");
  return leave();
}

/* Layers are timed by the clock, after their launches have finished. */
double tw_gpu_taken(void) {
  if (!failed) done(cl.finish(queue), "compute");
  return -1.0;
}

/* This runtime has no graphs to launch again. */
double tw_gpu_measured(const tw_gpu_network *called, int repeats) {
  (void)called, (void)repeats;
  return -1.0;
}

#else

/* C knows no empty file. */
typedef int tw_gpu_not_by_opencl;

#endif
