/* Integers, one after the other: each is loaded, or stored if it has one or two bytes, by one instruction, which also moves
 * the pointer on by a number of bytes. And cold places, which compilers are kept from making part of what surrounds them. */
#ifndef TW_NEXT_ELEMENT_H
#define TW_NEXT_ELEMENT_H

#include "xpulp.h"

#if defined(TW_COREV)
#define TW_E_LOAD_STEP "0x2b, 3"
#define TW_I_LOAD_STEP(bytes, is_signed) (((bytes) >> 1) + ((is_signed) ? 0 : 8))
#define TW_I_STORE_STEP(bytes) ((bytes) == 2 ? 0x11 : 0x10)
#define TW_A_STORE_STEP ".insn r 0x2b, 3, %[kind], %[step], %[at], %[d]\n"
#else
#define TW_E_LOAD_STEP "0x0b, 7"
#define TW_I_LOAD_STEP(bytes, is_signed) (8 * ((bytes) >> 1) + ((is_signed) ? 0 : 0x20))
#define TW_I_STORE_STEP(bytes) ((bytes) == 2 ? 5 : 4)
#define TW_A_STORE_STEP ".insn r 0x2b, %[kind], 0, %[step], %[at], %[d]\n"
#endif

#if TW_XPULP
/* The element at `p`, a variable; then p is `step` bytes further on. */
#define TW_NEXT(T, pointer, bytes_on)                                                           \
  __extension__({                                                                         \
    int32_t tw_element;                                                                   \
    __asm__ volatile(".insn r " TW_E_LOAD_STEP ", %[kind], %[d], %[at], %[step]\n"         \
                     : [d] "=r"(tw_element), [at] "+r"(pointer)                                  \
                     : [step] "r"(bytes_on), [kind] "i"(TW_I_LOAD_STEP(sizeof(T), (T)-1 < 0)) \
                     : "memory");                                                         \
    tw_element;                                                                           \
  })
#define TW_STORE_NEXT(T, pointer, value, bytes_on)                                              \
  __asm__ volatile(TW_A_STORE_STEP : [at] "+r"(pointer)                                          \
                   : [d] "r"(value), [step] "r"(bytes_on), [kind] "i"(TW_I_STORE_STEP(sizeof(T))) : "memory")
#define TW_COLD(condition) (__builtin_expect(condition, 0) && tw_is_cold())
static inline int tw_is_cold(void) {
  __asm__ volatile("");
  return 1;
}
#else
#define TW_NEXT(T, pointer, bytes_on) \
  (pointer = (const T *)(const void *)((const char *)(pointer) + (bytes_on)), *(const T *)(const void *)((const char *)(pointer) - (bytes_on)))
#define TW_STORE_NEXT(T, pointer, value, bytes_on) \
  (*(pointer) = (T)(value), pointer = (T *)(void *)((char *)(pointer) + (bytes_on)))
#define TW_COLD(condition) (condition)
#endif

/* Between the least and the largest number of an integer type of at most two bytes. */
#define TW_CLIP_TO(T, value) \
  ((T)-1 < 0 ? tw_x_clip(value, (1 << (8 * sizeof(T) - 1)) - 1) : tw_x_clipu(value, (int32_t)(1u << (8 * sizeof(T))) - 1))

#endif
