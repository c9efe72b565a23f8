#define _POSIX_C_SOURCE 199309L
#include "layer_times.h"

#include <stdlib.h>
#include <time.h>

#define TRIES 200

/* When layers ended in this call, what is known of what they took, and what they took in the fastest one. */
static double *ends, *known, *kept;
static int layers, room, last = -1;
static double fastest;

double tw_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void tw_time_layer(int layer, int result, const void *data, unsigned long bytes) {
  (void)result, (void)data, (void)bytes;
  tw_time_layer_of(layer, -1.0);
}

/* A layer with several results is done with the last of them; what is known of it comes with the first. */
void tw_time_layer_of(int layer, double nanoseconds) {
  if (layer >= room) {
    room = 2 * layer + 64;
    ends = realloc(ends, (size_t)room * sizeof *ends);
    known = realloc(known, (size_t)room * sizeof *known);
    kept = realloc(kept, (size_t)room * sizeof *kept);
    if (!ends || !known || !kept) abort();
  }
  if (layer >= layers) layers = layer + 1;
  if (nanoseconds >= 0.0 || layer != last) known[layer] = nanoseconds;
  last = layer;
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

/* What a layer took that ended behind another one. */
static double time_of(int layer, double before, double reading) {
  const double own = known[layer] < 0.0 ? ends[layer] - before - reading : known[layer];
  return own > 0.0 ? own : 0.0;
}

void tw_times_of_call(double begin) {
  const double reading = measure_reading();
  double taken = 0.0;
  if (!layers) return;
  for (int i = 0; i < layers; i++) taken += time_of(i, i ? ends[i - 1] : begin, reading);
  if (fastest != 0.0 && taken >= fastest) return;
  fastest = taken;
  for (int i = 0; i < layers; i++) kept[i] = time_of(i, i ? ends[i - 1] : begin, reading);
}

void tw_times_write(FILE *file) { fwrite(kept, sizeof *kept, (size_t)layers, file); }
