/* What the runtime on an NVIDIA GPU knows, and how it fails: for gpu_cuda.c, which alone includes this. */
#ifndef TW_GPU_CUDA_STATE_H
#define TW_GPU_CUDA_STATE_H

#include "gpu_calls.h"
#include "gpu_cuda_driver.h"

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
typedef struct on_device_arena {
  const unsigned char *owner; /* the caller's arena; NULL where all share it */
  address memory;
  recorded *records; /* of each network */
  struct on_device_arena *next;
} on_device_arena;

/* GPU memory shared by networks with the same constants. */
typedef struct on_device {
  const unsigned char *weights; /* that calls give */
  address constants;
  unsigned long *offsets, constant_bytes;
  on_device_arena *arenas;
  struct on_device *next;
} on_device;

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

enum { ALIGNMENT = 256 };
enum { LOADING, RECORDING, REPLAYING };
enum { ALL_SHARED = 100 /* percent */ };

static handle context, stream, copies, first_event, last_event; /* copies from the GPU have their own stream */
static int capability, overlaps;
static int multiprocessors, shared_bytes, most_shared_bytes, lost_shared_bytes; /* of a multiprocessor; of a group */
static recorded *record;
static staged *stages;
static ask *asked;
static int stage_count, stage_room, asked_count, asked_room;
static int is_capturing, has_launched, graph, opened_device;
static int is_pushed; /* whether our context was pushed onto the thread's context stack */

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

#endif
