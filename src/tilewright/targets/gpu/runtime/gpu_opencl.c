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

#include "gpu_opencl_open.h"

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
  if (is_in_arena(at)) {
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
  const place at = failed || !bytes ? (place){0} : translated(from);
  (void)key;
  if (!failed && bytes) done(cl.read(queue, at.memory, WAITS, at.offset, bytes, to, 0, NULL, NULL), "copy from the device");
  clear_if_failed(to, bytes);
}

const void *tw_gpu_seen(const void *data, unsigned long bytes) {
  static unsigned char *copy;
  const unsigned char *const at = data;
  if (!is_in_arena(at) || failed) return data;
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
