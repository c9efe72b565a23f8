/* A program without an operating system's library: reads the inputs' bytes from stdin, runs the network once, writes the
 * outputs' bytes to stdout. Exits with what the network returns. */
#include <stddef.h>

#include "harness.h"

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, EXIT = 60 };
__asm__(".globl _start\n_start:\n  andq $-16, %rsp\n  call tw_start\n");

static long system_call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
enum { READ = 63, WRITE = 64, EXIT = 93 };
__asm__(".globl _start\n_start:\n  bl tw_start\n");

static long system_call(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
#endif

enum { ALIGNMENT = 64, MOST = 16, FAULT = 100 };
extern const tw_harness_network tw_network_0;
static unsigned char memory[64 << 20] __attribute__((aligned(ALIGNMENT)));
static size_t used;

static void end(int code) {
  for (;;) system_call(EXIT, code, 0, 0);
}

static void *taken(size_t bytes) {
  unsigned char *const block = memory + used;
  used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (used > sizeof memory) end(FAULT);
  return block;
}

/* All of it: the system may do less at once. */
static void moved(long call, int file, unsigned char *block, size_t bytes) {
  while (bytes > 0) {
    const long done = system_call(call, file, (long)block, (long)bytes);
    if (done <= 0) end(FAULT);
    block += done;
    bytes -= (size_t)done;
  }
}

void tw_start(void);

void tw_start(void) {
  const tw_harness_network *const network = &tw_network_0;
  void *inputs[MOST], *outputs[MOST];
  if (network->inputs > MOST || network->outputs > MOST) end(FAULT);
  for (int i = 0; i < network->inputs; i++) {
    inputs[i] = taken(network->input_bytes[i]);
    moved(READ, 0, inputs[i], network->input_bytes[i]);
  }
  for (int i = 0; i < network->outputs; i++) outputs[i] = taken(network->output_bytes[i]);
  void *const arena = taken(network->arena_bytes);
  if (network->reset && network->reset(arena) != 0) end(FAULT);
  const int code = network->call(inputs, outputs, arena);
  for (int i = 0; i < network->outputs; i++) moved(WRITE, 1, outputs[i], network->output_bytes[i]);
  end(code);
}
