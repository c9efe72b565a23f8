/* Runs one of the program's networks on the host: harness NETWORK INPUTS OUTPUTS REPEATS STEPS [PROBE]
 * Reads the inputs' bytes one after another from a file, step by step, writes the outputs' bytes the same way, prints
 * nanoseconds of the fastest call and of the middle one, and the bytes that the process has had at most. What the network keeps lives from step to step, and every repeat begins anew.
 * With PROBE, every layer's results are appended to that file as they are made; or what layers take, if the
 * network's probe is tw_time_layer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "layer_times.h"

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

enum { FAULT = 3, NO_MEMORY = 4, TOO_MANY_TURNS = 5, GPU_FAILED = 6, SHORT_VECTORS = 7 };
/* What a network returns for the last two. */
enum { NETWORK_TOO_MANY_TURNS = 2, NETWORK_GPU_FAILED = 3 };

static void end(int code, const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(code);
}

static void fail(const char *what) { end(FAULT, what); }

/* Memory with guard bytes on both sides, aligned to a line of a cache, as no arena asks for more. */
static unsigned char *guarded(unsigned long bytes) {
  unsigned char *block = malloc(bytes + 3 * GUARD_BYTES);
  if (!block) end(NO_MEMORY, "out of memory");
  block += GUARD_BYTES - (uintptr_t)block % GUARD_BYTES;
  memset(block, GUARD, bytes + 2 * GUARD_BYTES);
  return block + GUARD_BYTES;
}

static void check_guards(const unsigned char *block, unsigned long bytes, const char *what) {
  for (int i = 0; i < GUARD_BYTES; i++)
    if (block[-1 - i] != GUARD || block[bytes + (unsigned long)i] != GUARD) fail(what);
}

static void **blocks(int count, const unsigned long *bytes) {
  void **found = malloc(((unsigned long)count + 1) * sizeof *found);
  if (!found) end(NO_MEMORY, "out of memory");
  for (int i = 0; i < count; i++) found[i] = guarded(bytes[i]);
  return found;
}

static FILE *opened(const char *name, const char *mode) {
  FILE *file = fopen(name, mode);
  if (!file) fail(mode[0] == 'r' ? "cannot read the inputs" : "cannot write the outputs");
  return file;
}

/* What a call reads and writes: all of its arrays, or the first bytes of them where it says sizes. */
typedef struct {
  int *sizes;
  unsigned long *input_bytes, *output_bytes;
} tw_call;

static void *allocated(size_t bytes) {
  void *const found = malloc(bytes + 1);
  if (!found) end(NO_MEMORY, "out of memory");
  return found;
}

static tw_call largest_call(const tw_harness_network *network) {
  const size_t inputs = (size_t)network->inputs * sizeof(unsigned long);
  const size_t outputs = (size_t)network->outputs * sizeof(unsigned long);
  const tw_call call = {allocated((size_t)network->sizes * sizeof(int)), allocated(inputs), allocated(outputs)};
  memcpy(call.input_bytes, network->input_bytes, inputs);
  memcpy(call.output_bytes, network->output_bytes, outputs);
  return call;
}

static void read_bytes(void *to, size_t bytes, FILE *file) {
  if (fread(to, 1, bytes, file) != bytes) fail("the inputs end early");
}

/* What lies behind a shorter array than the last one is none of the call's. */
static void read_inputs(const tw_harness_network *network, const tw_call *call, void **inputs, FILE *file) {
  if (network->sizes) {
    read_bytes(call->sizes, (size_t)network->sizes * sizeof(int), file);
    network->bytes_at(call->sizes, call->input_bytes, call->output_bytes);
    for (int i = 0; i < network->inputs; i++) memset(inputs[i], GUARD, network->input_bytes[i]);
  }
  for (int i = 0; i < network->inputs; i++) read_bytes(inputs[i], call->input_bytes[i], file);
}

static void poison_outputs(const tw_harness_network *network, void **outputs) {
  for (int i = 0; network->sizes && i < network->outputs; i++) memset(outputs[i], GUARD, network->output_bytes[i]);
}

static void write_outputs(const tw_harness_network *network, const tw_call *call, void **outputs, FILE *file) {
  for (int i = 0; i < network->outputs; i++) {
    const unsigned char *const output = outputs[i];
    fwrite(output, 1, call->output_bytes[i], file);
    for (unsigned long at = call->output_bytes[i]; at < network->output_bytes[i]; at++)
      if (output[at] != GUARD) fail("a kernel wrote behind an output");
  }
}

/* Ends the program where a network does not do what it should. */
static void check_done(const tw_harness_network *network, int code) {
  if (code == NETWORK_TOO_MANY_TURNS) end(TOO_MANY_TURNS, "a loop has too many turns");
  if (code == NETWORK_GPU_FAILED) end(GPU_FAILED, network->gpu_error());
  if (code != 0) fail("the network reports an error");
}

static double timed_call(const tw_harness_network *network, const tw_call *call, void **inputs, void **outputs,
                         void *arena) {
  poison_outputs(network, outputs);
  const double start = tw_now();
  check_done(network, network->sizes ? network->sized_call(inputs, outputs, call->sizes, arena)
                                     : network->call(inputs, outputs, arena));
  const double end_of_call = tw_now();
  tw_times_of_call(start);
  return end_of_call - start;
}

/* Some calls in order, from the first state on; the nanoseconds of each. */
static void run_steps(const tw_harness_network *network, const tw_call *call, int steps, void **inputs, FILE *from,
                      void **outputs, FILE *to, void *arena, double *times) {
  if (network->reset) check_done(network, network->reset(arena));
  for (int step = 0; step < steps; step++) {
    if (from) read_inputs(network, call, inputs, from);
    times[step] = timed_call(network, call, inputs, outputs, arena);
    if (to) write_outputs(network, call, outputs, to);
  }
}

/* All runs. A single step's inputs are read once, and stay where they are. */
static void run_all(const tw_harness_network *network, int runs, int steps, void **inputs, const char *from,
                    void **outputs, const char *to, void *arena, double *times) {
  const tw_call call = largest_call(network);
  for (int run = 0; run < runs; run++) {
    FILE *const read = steps > 1 || run == 0 ? opened(from, "rb") : NULL;
    FILE *const written = run == runs - 1 ? opened(to, "wb") : NULL;
    run_steps(network, &call, steps, inputs, read, outputs, written, arena, times + (long)run * steps);
    if (read) fclose(read);
    if (written && fclose(written) != 0) fail("cannot write the outputs");
  }
}

static int compared(const void *one, const void *other) {
  const double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

/* 0 where the system does not tell. */
static unsigned long most_resident_bytes(void) {
  unsigned long kibibytes = 0;
  char line[256];
  FILE *const file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %lu", &kibibytes);
  if (file) fclose(file);
  return kibibytes * 1024;
}

/* Code for registers of at least so many bits would leave out numbers where they are shorter. */
static void check_vectors(void) {
#if defined(__riscv_v_min_vlen)
  unsigned long bytes;
  __asm__ volatile("csrr %0, vlenb" : "=r"(bytes));
  if (8 * bytes >= __riscv_v_min_vlen) return;
  fprintf(stderr, "vectors have %lu bits, and the program is for at least %d\n", 8 * bytes, __riscv_v_min_vlen);
  exit(SHORT_VECTORS);
#endif
}

int main(int argc, char **argv) {
  check_vectors();
  if (argc < 6) fail("usage: harness NETWORK INPUTS OUTPUTS REPEATS STEPS [PROBE]");
  const int number = atoi(argv[1]);
  if (number < 0 || number >= tw_network_count) fail("there is no such network");
  const tw_harness_network *const network = tw_networks[number];
  void **const inputs = blocks(network->inputs, network->input_bytes);
  void **const outputs = blocks(network->outputs, network->output_bytes);
  unsigned char *const arena = guarded(network->arena_bytes);
  if (argc > 6 && !(probe_file = fopen(argv[6], "wb"))) fail("cannot write the probe file");

  if (network->start_threads && network->start_threads() != 0) fail("the system refuses threads");
  const int runs = atoi(argv[4]), steps = atoi(argv[5]);
  const size_t calls = (size_t)runs * (size_t)steps;
  double *const times = malloc((calls + 1) * sizeof *times);
  if (!times) end(NO_MEMORY, "out of memory");
  run_all(network, runs, steps, inputs, argv[2], outputs, argv[3], arena, times);
  check_guards(arena, network->arena_bytes, "a kernel wrote outside the arena");
  for (int i = 0; i < network->inputs; i++)
    check_guards(inputs[i], network->input_bytes[i], "a kernel wrote beside an input");
  for (int i = 0; i < network->outputs; i++)
    check_guards(outputs[i], network->output_bytes[i], "a kernel wrote beside an output");

  if (probe_file) tw_times_write(probe_file);
  if (probe_file) fclose(probe_file);
  qsort(times, calls, sizeof *times, compared);
  printf("%.0f %.0f %lu\n", times[0], times[calls / 2], most_resident_bytes());
  return 0;
}
