/* Streams, repetition and packed floats of Snitch cores, which compilers do not know.
 *
 * While streams are on, reading ft0, ft1 or ft2 gives the next element of its stream and writing one stores it; elements
 * have 8 bytes and lie at multiples of 8. Streams are described while the unit has nothing to do: the instructions wait for that.
 *
 *   tw_stream_repeat(0, 1); tw_stream_loop(0, 0, count, 8); tw_stream_read(0, 1, from);
 *   tw_streams_on();
 *   ...                          asm with ft0, no other code with floats
 *   tw_streams_off(); */
#ifndef TW_STREAMS_H
#define TW_STREAMS_H

#include <stdint.h>

#include "cluster.h"

/* Whether streams may begin there: a tensor may lie anywhere within a larger one. */
static inline int tw_can_stream(const void *one, const void *two, const void *three) {
  return (((uintptr_t)one | (uintptr_t)two | (uintptr_t)three) & 7) == 0;
}

#define TW_STREAM_SET(stream, number, value) \
  __asm__ volatile(".insn i 0x2b, 2, x0, %0, %1" : : "r"(value), "i"((number) << 5 | (stream)) : "memory")

/* How often each element is given. */
#define tw_stream_repeat(stream, times) TW_STREAM_SET(stream, 1, (times) - 1)

/* A loop of a stream, 0 for the innermost: how often, and how many bytes further than where the last turn of the loop within
 * ended. */
#define tw_stream_loop(stream, loop, count, bytes)  \
  do {                                              \
    TW_STREAM_SET(stream, 2 + (loop), (count) - 1); \
    TW_STREAM_SET(stream, 6 + (loop), bytes);       \
  } while (0)

/* Where it begins, and of how many loops it is; from then on it is read ahead. */
#define tw_stream_read(stream, loops, from) TW_STREAM_SET(stream, 23 + (loops), from)
#define tw_stream_write(stream, loops, to) TW_STREAM_SET(stream, 27 + (loops), to)

static inline void tw_streams_on(void) { __asm__ volatile("csrsi %0, 1" : : "i"(TW_STREAMS) : "memory", "ft0", "ft1", "ft2"); }

/* Waits for what reads and writes them. */
static inline void tw_streams_off(void) {
  tw_fpu_wait();
  __asm__ volatile("csrci %0, 1" : : "i"(TW_STREAMS) : "memory", "ft0", "ft1", "ft2");
}

/* The same where one was written: what was computed last is still on its way to memory. */
static inline void tw_streams_off_written(void) {
  tw_fpu_wait();
  __asm__ volatile(".rept 16\n nop\n .endr" : : : "memory");
  tw_streams_off();
}

/* In asm: the next `count` instructions `turns` + 1 times, all of them before they come again. */
#define TW_REPEAT(turns, count) ".insn i 0x0b, 0, x1, " turns ", " #count " - 1\n"

/* In asm: two floats at a time. With R the second operand is its lower float twice. */
#define TW_VFADD(d, a, b) ".insn r 0x33, 0, 0x41, " d ", " a ", " b "\n"
#define TW_VFADD_R(d, a, b) ".insn r 0x33, 4, 0x41, " d ", " a ", " b "\n"
#define TW_VFSUB(d, a, b) ".insn r 0x33, 0, 0x42, " d ", " a ", " b "\n"
#define TW_VFSUB_R(d, a, b) ".insn r 0x33, 4, 0x42, " d ", " a ", " b "\n"
#define TW_VFMUL(d, a, b) ".insn r 0x33, 0, 0x43, " d ", " a ", " b "\n"
#define TW_VFMUL_R(d, a, b) ".insn r 0x33, 4, 0x43, " d ", " a ", " b "\n"
#define TW_VFMIN_R(d, a, b) ".insn r 0x33, 4, 0x45, " d ", " a ", " b "\n"
#define TW_VFMAX(d, a, b) ".insn r 0x33, 0, 0x46, " d ", " a ", " b "\n"
#define TW_VFMAX_R(d, a, b) ".insn r 0x33, 4, 0x46, " d ", " a ", " b "\n"
#define TW_VFMAC(d, a, b) ".insn r 0x33, 0, 0x48, " d ", " a ", " b "\n"
#define TW_VFMAC_R(d, a, b) ".insn r 0x33, 4, 0x48, " d ", " a ", " b "\n"
/* The size of b with the sign of both. */
#define TW_VFSGNJX(d, a, b) ".insn r 0x33, 0, 0x4f, " d ", " a ", " b "\n"
/* The lower float of d grows by both of a; its upper one is 0. */
#define TW_VFSUM(d, a) ".insn r 0x33, 0, 0x47, " d ", " a ", ft8\n"
/* A float each from a and b. */
#define TW_VPACK(d, a, b) ".insn r 0x33, 0, 0x58, " d ", " a ", " b "\n"

#endif
