/* Weights that are a file, or lie in memory as they do in one; and contexts that read them. */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define HAS_FILES 1
#else
#define HAS_FILES 0
#endif

#include <string.h>

#include "calls.h"

/* What a file begins with; numbers are as the processor has them. */
typedef struct {
  char magic[8];
  uint32_t version, header_bytes;
  uint64_t bytes, layout, contents;
} file_header;

int32_t TW_LM_FUNCTION(use)(TW_LM_FUNCTION(model) *model, const void *weights, size_t bytes) {
  file_header found;
  if ((uintptr_t)weights % TW_LM_WEIGHTS_ALIGNMENT != 0) return TW_MODEL_MEMORY;
  if (bytes < sizeof found) return TW_MODEL_WEIGHTS;
  memcpy(&found, weights, sizeof found);
  if (memcmp(found.magic, TW_LM_WEIGHTS_MAGIC, sizeof found.magic) != 0) return TW_MODEL_WEIGHTS;
  if (found.version != TW_LM_WEIGHTS_VERSION || found.layout != TW_LM_LAYOUT) return TW_MODEL_WEIGHTS;
  if (found.bytes != TW_LM_WEIGHTS_BYTES || bytes < found.bytes) return TW_MODEL_WEIGHTS;
  model->weights = weights;
  model->contents = found.contents;
  model->mapped = 0;
  return 0;
}

int32_t TW_LM_FUNCTION(open)(TW_LM_FUNCTION(model) *model, const char *path) {
#if HAS_FILES
  struct stat found;
  const int file = open(path, O_RDONLY);
  if (file < 0) return TW_MODEL_FILE;
  void *weights = MAP_FAILED;
  if (fstat(file, &found) == 0 && found.st_size > 0)
    weights = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (weights == MAP_FAILED) return TW_MODEL_FILE;
  const int32_t status = TW_LM_FUNCTION(use)(model, weights, (size_t)found.st_size);
  if (status == 0) model->mapped = (size_t)found.st_size;
  else munmap(weights, (size_t)found.st_size);
  return status;
#else
  (void)model, (void)path;
  return TW_MODEL_FILE;
#endif
}

void TW_LM_FUNCTION(close)(TW_LM_FUNCTION(model) *model) {
#if TW_LM_ON_GPU
  if (model->weights) tw_gpu_forget(&TW_LM_GPU_MEMORY, NULL, model->weights);
#endif
#if HAS_FILES
  /* Nobody writes to it, so that taking the promise back harms nobody. */
  if (model->mapped) munmap((void *)(uintptr_t)model->weights, model->mapped);
#endif
  model->weights = NULL;
  model->mapped = 0;
}

int32_t TW_LM_FUNCTION(begin)(
    TW_LM_FUNCTION(context) *c, const TW_LM_FUNCTION(model) *model, void *memory, size_t bytes) {
  if (bytes < TW_LM_MEMORY_BYTES || (uintptr_t)memory % TW_LM_ALIGNMENT != 0) return TW_MODEL_MEMORY;
  if (model->weights == NULL) return TW_MODEL_WEIGHTS;
  c->weights = model->weights;
  c->contents = model->contents;
  c->arena = memory;
  TW_LM_FUNCTION(reset)(c);
  return 0;
}
