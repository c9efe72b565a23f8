/* Memory of the caller's, here or on the GPU: for gpu_cuda.c, which alone includes this. */
#ifndef TW_GPU_CUDA_CALLER_H
#define TW_GPU_CUDA_CALLER_H

#include "gpu_cuda_open.h"

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

#endif
