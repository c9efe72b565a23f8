/* Loads kernels, which the driver compiles: those of all networks that share a memory as one text where the driver does so
 * in threads, as one after the other takes three times as long. For gpu_cuda_open.h, which alone includes this. */
#ifndef TW_GPU_CUDA_LOAD_H
#define TW_GPU_CUDA_LOAD_H

#include "gpu_cuda_state.h"

enum { LOG_ROOM = 1024, IN_THREADS_FROM = 13000 /* version of CUDA */ };

/* Adapts a line of PTX to this GPU: leaves out what other GPUs know, or declares the code for this one. */
static const char *line_here(const char *line) {
  const int is_hopper = overlaps && capability == 90;
  if (overlaps && strncmp(line, ".version ", 9) == 0) return ".version 8.0\n";
  if (overlaps && strncmp(line, ".target ", 8) == 0) return is_hopper ? ".target sm_90a\n" : ".target sm_90\n";
  if (!is_hopper && strstr(line, "wgmma")) return "";
  return !overlaps && (strstr(line, "griddepcontrol") || strstr(line, "cluster")) ? "" : line;
}

/* Whether a line says what kind of text it is, and stands once. */
static int is_of_head(const char *line) {
  return strncmp(line, ".version ", 9) == 0 || strncmp(line, ".target ", 8) == 0 ||
         strncmp(line, ".address_size ", 14) == 0;
}

/* Writes the code of a kernel to `end`, where that is not NULL; its length. */
static size_t written(char *end, const tw_gpu_code *code, int with_head) {
  size_t bytes = 0;
  for (int32_t i = 0; i < code->count; i++) {
    const char *const line = line_here(code->lines[i]);
    const size_t length = with_head || !is_of_head(line) ? strlen(line) : 0;
    if (end) memcpy(end + bytes, line, length);
    bytes += length;
  }
  return bytes;
}

/* The code of kernels as one text, which the caller frees. */
static char *text_of(tw_gpu_code *const *codes, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += written(NULL, codes[i], i == 0);
  char *const text = malloc(bytes + 1), *end = text;
  if (!text) return no_room_here(), NULL;
  for (int i = 0; i < count; i++) end += written(end, codes[i], i == 0);
  *end = '\0';
  return text;
}

static void find_kernel(tw_gpu_code *code, handle module) {
  handle function = NULL;
  if (!done(cuda.function(&function, module, code->name), "find a kernel")) return;
  if (overlaps) done(cuda.get(&code->own_shared_bytes, OWN_SHARED_BYTES, function), "say what a kernel shares");
  /* All kernels use the same split of L1 and shared memory, so that a kernel can start while another still runs. */
  done(cuda.set(function, PART_SHARED, ALL_SHARED), "share memory of a multiprocessor");
  code->function = function;
}

/* One kernel, or what is wrong with it. */
static void load(tw_gpu_code *code) {
  char log[LOG_ROOM] = "", line[LOG_ROOM + 376], *const text = text_of(&code, 1);
  int names[] = {LOG_BUFFER, LOG_BYTES}, version = 0;
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  handle module = NULL;
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
  } else if (done(result, "load a kernel")) {
    find_kernel(code, module);
  }
}

/* As one text. What fails here is left for `load`, which says of which kernel it is. */
static void load_together(tw_gpu_code *const *codes, int count) {
  char log[LOG_ROOM] = "", *const text = text_of(codes, count);
  int names[] = {LOG_BUFFER, LOG_BYTES, THREADS};
  void *values[] = {log, (void *)(uintptr_t)sizeof log, (void *)0 /* as many as there are processors */};
  handle module = NULL;
  const int result = text ? cuda.load(&module, text, 3, names, values) : SUCCESS;
  free(text);
  for (int i = 0; i < count && module && result == SUCCESS; i++) find_kernel(codes[i], module);
}

/* What the networks of a memory have not loaded yet. */
static void load_all(void) {
  int version = 0, all = 0, count = 0;
  if (cuda.version(&version) != SUCCESS || version < IN_THREADS_FROM) return;
  while (memory->codes[all]) all++;
  tw_gpu_code **const missing = malloc(sizeof *missing * (size_t)(all + 1));
  if (!missing) {
    no_room_here();
    return;
  }
  for (int i = 0; i < all; i++) {
    if (!memory->codes[i]->function) missing[count++] = memory->codes[i];
  }
  if (count > 1) load_together(missing, count);
  free(missing);
}

#endif
