#define _POSIX_C_SOURCE 199309L
#include "layer_times.h"

#include <stdlib.h>
#include <time.h>

#define TRIES 200

static double *ends, *kept; /* when layers ended in this call, and what they took in the fastest one */
static int layers, room;
static double fastest;

double tw_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A layer with several results is done with the last of them. */
void tw_time_layer(int layer, int result, const void *data, unsigned long bytes) {
  (void)result, (void)data, (void)bytes;
  if (layer >= room) {
    room = 2 * layer + 64;
    ends = realloc(ends, (size_t)room * sizeof *ends);
    kept = realloc(kept, (size_t)room * sizeof *kept);
    if (!ends || !kept) abort();
  }
  if (layer >= layers) layers = layer + 1;
  ends[layer] = tw_now();
}

/* What reading the clock takes itself. */
static double measure_reading(void) {
  double least = 1e9;
  for (int i = 0; i < TRIES; i++) {
    const double first = tw_now(), taken = tw_now() - first;
    if (taken < least) least = taken;
  }
  return least;
}

void tw_times_of_call(double begin) {
  if (!layers) return;
  const double taken = ends[layers - 1] - begin, reading = measure_reading();
  if (fastest != 0.0 && taken >= fastest) return;
  fastest = taken;
  double before = begin;
  for (int i = 0; i < layers; before = ends[i], i++) {
    const double own = ends[i] - before - reading;
    kept[i] = own > 0.0 ? own : 0.0;
  }
}

void tw_times_write(FILE *file) { fwrite(kept, sizeof *kept, (size_t)layers, file); }
