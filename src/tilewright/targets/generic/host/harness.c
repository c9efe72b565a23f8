/* Runs one of the program's networks on the host: harness NETWORK INPUTS OUTPUTS REPEATS [PROBE]
 * Reads the inputs' bytes one after another from a file, writes the outputs' bytes the same way, prints the fastest
 * run in nanoseconds. With PROBE, every layer's results are appended to that file as they are made. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"

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

static void **blocks(int count, const unsigned long *bytes) {
  void **found = malloc(((unsigned long)count + 1) * sizeof *found);
  if (!found) end(NO_MEMORY, "out of memory");
  for (int i = 0; i < count; i++) found[i] = guarded(bytes[i]);
  return found;
}

static void **read_inputs(const tw_harness_network *network, const char *name) {
  void **inputs = blocks(network->inputs, network->input_bytes);
  FILE *file = fopen(name, "rb");
  if (!file) fail("cannot read the inputs");
  for (int i = 0; i < network->inputs; i++)
    if (fread(inputs[i], 1, network->input_bytes[i], file) != network->input_bytes[i]) fail("the inputs end early");
  fclose(file);
  return inputs;
}

static void write_outputs(const tw_harness_network *network, void **outputs, const char *name) {
  FILE *file = fopen(name, "wb");
  if (!file) fail("cannot write the outputs");
  for (int i = 0; i < network->outputs; i++) fwrite(outputs[i], 1, network->output_bytes[i], file);
  if (fclose(file) != 0) fail("cannot write the outputs");
}

/* The fastest of some runs, in nanoseconds. */
static double fastest(const tw_harness_network *network, int runs, void **inputs, void **outputs, void *arena) {
  double best = 0;
  for (int run = 0; run < runs; run++) {
    const double start = now();
    if (network->call(inputs, outputs, arena) != 0) fail("the network reports an error");
    const double taken = now() - start;
    if (run == 0 || taken < best) best = taken;
  }
  return best;
}

int main(int argc, char **argv) {
  if (argc < 5) fail("usage: harness NETWORK INPUTS OUTPUTS REPEATS [PROBE]");
  const int number = atoi(argv[1]);
  if (number < 0 || number >= tw_network_count) fail("there is no such network");
  const tw_harness_network *const network = tw_networks[number];
  void **const inputs = read_inputs(network, argv[2]);
  void **const outputs = blocks(network->outputs, network->output_bytes);
  unsigned char *const arena = guarded(network->arena_bytes);
  if (argc > 5 && !(probe_file = fopen(argv[5], "wb"))) fail("cannot write the probe file");

  const double best = fastest(network, atoi(argv[4]), inputs, outputs, arena);
  check_guards(arena, network->arena_bytes, "a kernel wrote outside the arena");
  for (int i = 0; i < network->inputs; i++)
    check_guards(inputs[i], network->input_bytes[i], "a kernel wrote beside an input");
  for (int i = 0; i < network->outputs; i++)
    check_guards(outputs[i], network->output_bytes[i], "a kernel wrote beside an output");

  if (probe_file) fclose(probe_file);
  write_outputs(network, outputs, argv[3]);
  printf("%.0f\n", best);
  return 0;
}
