/* Runs a compiled network on the host: harness INPUTS OUTPUTS REPEATS [PROBE]
 * Reads the inputs' bytes one after another from a file, writes the outputs' bytes the same way, prints the fastest
 * run in nanoseconds. With PROBE, every layer's results are appended to that file as they are made. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness_call.h"

#define GUARD_BYTES 64
#define GUARD 0x5c

static FILE *probe_file;

void tw_probe(int layer, int result, const void *data, unsigned long bytes);

void tw_probe(int layer, int result, const void *data, unsigned long bytes) {
  if (!probe_file) return;
  fwrite(&layer, sizeof layer, 1, probe_file);
  fwrite(&result, sizeof result, 1, probe_file);
  fwrite(data, 1, bytes, probe_file);
}

enum { FAULT = 3, NO_MEMORY = 4 };

static void end(int code, const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(code);
}

static void fail(const char *what) { end(FAULT, what); }

/* Memory with guard bytes on both sides, aligned like the arena. */
static unsigned char *guarded(unsigned long bytes) {
  unsigned char *block = malloc(bytes + 2 * GUARD_BYTES);
  if (!block) end(NO_MEMORY, "out of memory");
  memset(block, GUARD, bytes + 2 * GUARD_BYTES);
  return block + GUARD_BYTES;
}

static void check_guards(const unsigned char *block, unsigned long bytes, const char *what) {
  for (int i = 0; i < GUARD_BYTES; i++)
    if (block[-1 - i] != GUARD || block[bytes + (unsigned long)i] != GUARD) fail(what);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc < 4) fail("usage: harness INPUTS OUTPUTS REPEATS [PROBE]");
  void *inputs[HARNESS_INPUTS + 1], *outputs[HARNESS_OUTPUTS + 1];
  FILE *file = fopen(argv[1], "rb");
  if (!file) fail("cannot read the inputs");
  for (int i = 0; i < HARNESS_INPUTS; i++) {
    inputs[i] = guarded(input_bytes[i]);
    if (fread(inputs[i], 1, input_bytes[i], file) != input_bytes[i]) fail("the inputs end early");
  }
  fclose(file);
  for (int i = 0; i < HARNESS_OUTPUTS; i++) outputs[i] = guarded(output_bytes[i]);
  unsigned char *arena = guarded(HARNESS_ARENA_BYTES);
  if (argc > 4 && !(probe_file = fopen(argv[4], "wb"))) fail("cannot write the probe file");

  double best = 0;
  for (int run = 0; run < atoi(argv[3]); run++) {
    const double start = now();
    if (harness_call(inputs, outputs, arena) != 0) fail("the network reports an error");
    const double taken = now() - start;
    if (run == 0 || taken < best) best = taken;
  }
  check_guards(arena, HARNESS_ARENA_BYTES, "a kernel wrote outside the arena");
  for (int i = 0; i < HARNESS_INPUTS; i++) check_guards(inputs[i], input_bytes[i], "a kernel wrote beside an input");
  for (int i = 0; i < HARNESS_OUTPUTS; i++) check_guards(outputs[i], output_bytes[i], "a kernel wrote beside an output");

  if (probe_file) fclose(probe_file);
  file = fopen(argv[2], "wb");
  if (!file) fail("cannot write the outputs");
  for (int i = 0; i < HARNESS_OUTPUTS; i++) fwrite(outputs[i], 1, output_bytes[i], file);
  if (fclose(file) != 0) fail("cannot write the outputs");
  printf("%.0f\n", best);
  return 0;
}
