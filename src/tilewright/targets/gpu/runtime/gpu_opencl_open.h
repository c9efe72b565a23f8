/* What the runtime by OpenCL knows, and how it opens a device and what a network has there: for gpu_opencl.c, which
 * alone includes this. */
#ifndef TW_GPU_OPENCL_OPEN_H
#define TW_GPU_OPENCL_OPEN_H

#include "gpu_calls.h"
#include "gpu_opencl_driver.h"

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
  int32_t constant_count;
  on_device_arena *arenas;
  struct on_device *next;
} on_device;

#include "gpu_networks.h"

/* What it has of a kernel. */
typedef struct {
  handle kernel;
  handle own; /* memory from launch to launch; zeros at first */
} loaded_code;

typedef struct {
  handle memory;
  uint64_t offset;
} place;

enum { MOST_DEVICES = 16, LONGEST_NAME = 256, LONGEST_PATH = 1024 };

static handle context, queue, device;
static char device_name[LONGEST_NAME], driver[LONGEST_NAME];
static char options[128];
static int has_doubles;

/* Whether a driver call has succeeded. */
static int done(int code, const char *what) {
  char line[512];
  if (code == SUCCESS) return 1;
  snprintf(line, sizeof line, "the driver of %s fails to %s: OpenCL's error %d", device ? device_name : "OpenCL", what,
           code);
  fail(line, "see whether `clinfo` shows the device; `--target cpu` needs none");
  return 0;
}

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
  if (done(code, "make a queue")) return 1;
  cl.forget_context(context);
  queue = NULL;
  return 0;
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

static void close_arena(on_device_arena *made) {
  if (made->memory) cl.release(made->memory);
  free(made);
}

static void close_network(on_device *made) {
  close_arenas(made);
  for (int32_t i = 0; i < made->constant_count; i++) {
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

static on_device *with_constants(void) {
  on_device *const made = calloc(1, sizeof *made);
  if (made) made->constants = calloc((size_t)memory->constant_count + 1, sizeof *made->constants);
  if (!made || !made->constants) {
    no_room_here();
    free(made);
    return NULL;
  }
  made->constant_count = memory->constant_count;
  if (upload_constants(made)) return made;
  close_network(made);
  return NULL;
}

static int allocate_arena(on_device_arena *made) {
  made->memory = allocated(memory->arena_bytes, network_bytes());
  return made->memory != NULL;
}

/* Copies between an arena and this machine: each has ended when it returns. */
static int put(const on_device_arena *to, unsigned long offset, const void *from, unsigned long bytes,
               const char *what) {
  return done(cl.write(queue, to->memory, WAITS, offset, bytes, from, 0, NULL, NULL), what);
}

static int get(const on_device_arena *from, unsigned long offset, void *to, unsigned long bytes, const char *what) {
  return done(cl.read(queue, from->memory, WAITS, offset, bytes, to, 0, NULL, NULL), what);
}

static int settled(const char *what) {
  (void)what;
  return 1;
}

/* From here to `leave`, one thread owns the device. */
static void take(void) {
  pthread_mutex_lock(&busy);
  failed = 0;
}

static int leave(void) {
  const int result = failed ? TW_GPU_FAILED : 0;
  pthread_mutex_unlock(&busy);
  return result;
}

static int enter(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given) {
  take();
  prepare_call(called, host_arena, given);
  if (open_driver()) find_memory();
  return !failed;
}

void tw_gpu_forget(tw_gpu_memory *from, const unsigned char *host_arena, const unsigned char *given) {
  take();
  forget(from, host_arena, given);
  leave();
}

#endif
