/* A program without an operating system's library: reads the inputs' bytes from stdin, runs the network once, writes the
 * outputs' bytes to stdout. Exits with what the network returns, or with an error of its own. */
#include <stddef.h>

#include "harness.h"

/* What compilers call, which would else be built with all of their library. Loops in them are not to become such calls. */
#define IS_CALLED __attribute__((no_builtin))
void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

IS_CALLED void *memcpy(void *to, const void *from, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
  return to;
}

IS_CALLED void *memmove(void *to, const void *from, size_t bytes) {
  if ((const unsigned char *)to <= (const unsigned char *)from) return memcpy(to, from, bytes);
  for (size_t i = bytes; i > 0; i--) ((unsigned char *)to)[i - 1] = ((const unsigned char *)from)[i - 1];
  return to;
}

IS_CALLED void *memset(void *to, int value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)to)[i] = (unsigned char)value;
  return to;
}

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
#elif defined(__riscv)
enum { READ = 63, WRITE = 64, EXIT = 93 };
__asm__(".globl _start\n_start:\n  .option push\n  .option norelax\n  la gp, __global_pointer$\n  .option pop\n  call tw_start\n");

static long system_call(long number, long a, long b, long c) {
  register long a7 __asm__("a7") = number;
  register long a0 __asm__("a0") = a;
  register long a1 __asm__("a1") = b;
  register long a2 __asm__("a2") = c;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
  return a0;
}
#endif

enum { ALIGNMENT = 64, MOST = 256, FAULT = 100, OVERRUN = 101, GUARD = 0x5c };
extern const tw_harness_network tw_network_0;
static unsigned char memory[64 << 20] __attribute__((aligned(ALIGNMENT)));
static size_t used;

static void end(int code) {
  for (;;) system_call(EXIT, code, 0, 0);
}

static void guard(void) {
  for (int i = 0; i < ALIGNMENT; i++) memory[used++] = GUARD;
}

/* With guards on both sides, as near as the alignment of the next block allows. */
static void *taken(size_t bytes) {
  if (used + bytes + 4 * ALIGNMENT > sizeof memory) end(FAULT);
  guard();
  unsigned char *const block = memory + used;
  used += bytes;
  guard();
  while (used % ALIGNMENT) used++;
  return block;
}

static void check_guards(const unsigned char *block, size_t bytes) {
  for (int i = 0; i < ALIGNMENT; i++)
    if (block[-1 - i] != GUARD || block[bytes + (size_t)i] != GUARD) end(OVERRUN);
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
  check_guards(arena, network->arena_bytes);
  for (int i = 0; i < network->inputs; i++) check_guards(inputs[i], network->input_bytes[i]);
  for (int i = 0; i < network->outputs; i++) check_guards(outputs[i], network->output_bytes[i]);
  for (int i = 0; i < network->outputs; i++) moved(WRITE, 1, outputs[i], network->output_bytes[i]);
  end(code);
}
