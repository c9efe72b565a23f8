/* Functions of floats, 16 elements at a time: 8 numbers of two floats lie in 8 registers one behind the other, and a repeated
 * instruction whose registers are counted on takes all of them without a gap. A comparison would wait until the unit has nothing
 * to do, so there are none: ends are clamped. What a unit of floats cannot do is left to the integer core, which reads and
 * writes the bits of what the unit has stored, while that goes on.
 *
 * Three groups of registers: x, z and w. w holds constants until something else is computed there; ft3 to ft7 hold others.
 * Between these functions there must be no other code with floats. */
#ifndef TW_FUNCTION_BLOCKS_H
#define TW_FUNCTION_BLOCKS_H

#include "rows_sizes.h"
#include "streams.h"

#define TW_X_GROUP "f8"
#define TW_Z_GROUP "f16"
#define TW_W_GROUP "f24"

/* Instructions that are counted on: d and a; d, a and b; d and b. */
#define TW_EIGHT(counted, instruction) ".insn i 0x0b, 7, " counted ", %[seven], 0\n" instruction
#define TW_WITH(OP, d, a, one) TW_EIGHT("x7", OP(d, a, one))
#define TW_BOTH(OP, d, a, b) TW_EIGHT("x15", OP(d, a, b))
#define TW_FROM(OP, d, one, b) TW_EIGHT("x11", OP(d, one, b))

#define TW_GROUP_8 "f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15"
#define TW_GROUP_16 "f16", "f17", "f18", "f19", "f20", "f21", "f22", "f23"
#define TW_GROUP_24 "f24", "f25", "f26", "f27", "f28", "f29", "f30", "f31"
#define TW_EIGHTS(TEXT) __asm__ volatile(TEXT : : [seven] "r"(7) : TW_GROUP_8, TW_GROUP_16, TW_GROUP_24, "f3", "f4", "f5", "f6", "f7", "memory")

#define TW_ACCESS_EIGHT(instruction, group, apart, from)                                                              \
  __asm__ volatile(TW_ACCESS_##group(instruction, apart) : : [at] "r"(from) : TW_GROUP_##group, "memory")
#define TW_ACCESS(instruction, number, offset) instruction " f" #number ", " #offset "(%[at])\n"
#define TW_ACCESS_8(i, a) TW_ACCESS(i, 8, 0) TW_ACCESS(i, 9, a) TW_ACCESS(i, 10, 2 * a) TW_ACCESS(i, 11, 3 * a) TW_ACCESS(i, 12, 4 * a) \
  TW_ACCESS(i, 13, 5 * a) TW_ACCESS(i, 14, 6 * a) TW_ACCESS(i, 15, 7 * a)
#define TW_ACCESS_16(i, a) TW_ACCESS(i, 16, 0) TW_ACCESS(i, 17, a) TW_ACCESS(i, 18, 2 * a) TW_ACCESS(i, 19, 3 * a) TW_ACCESS(i, 20, 4 * a) \
  TW_ACCESS(i, 21, 5 * a) TW_ACCESS(i, 22, 6 * a) TW_ACCESS(i, 23, 7 * a)
#define TW_ACCESS_24(i, a) TW_ACCESS(i, 24, 0) TW_ACCESS(i, 25, a) TW_ACCESS(i, 26, 2 * a) TW_ACCESS(i, 27, 3 * a) TW_ACCESS(i, 28, 4 * a) \
  TW_ACCESS(i, 29, 5 * a) TW_ACCESS(i, 30, 6 * a) TW_ACCESS(i, 31, 7 * a)

static inline void tw_load_x(const float *from) { TW_ACCESS_EIGHT("fld", 8, 8, from); }
static inline void tw_load_z(const float *from) { TW_ACCESS_EIGHT("fld", 16, 8, from); }
static inline void tw_store_x(float *to) { TW_ACCESS_EIGHT("fsd", 8, 8, to); }
static inline void tw_store_z(float *to) { TW_ACCESS_EIGHT("fsd", 16, 8, to); }

/* A core's own; on its stack. */
typedef struct {
  uint32_t bits[TW_BLOCK]; /* what both units work on */
  float block[TW_BLOCK];   /* elements that have no place of their own that begins at a multiple of 8 */
  uint32_t power[8];       /* constants in the order of w */
  uint32_t more[8];        /* those of the kernel */
} __attribute__((aligned(8))) tw_room;

static inline void tw_load_constants(const uint32_t *eight) { TW_ACCESS_EIGHT("flw", 24, 4, eight); }

#define TW_SET(constant, bits) __asm__ volatile("fmv.w.x " constant ", %0" : : "r"(bits) : constant)
#define TW_SET_TWICE(constant, bits) __asm__ volatile("fmv.w.x " constant ", %0\n" TW_VPACK(constant, constant, constant) : : "r"(bits) : constant)

#define TW_ONE_BITS 0x3f800000

/* 1 / ln 2; 1.5 * 2^23 + 127, whose sum with a number has the integer next to it in its lowest bits; ln 2 in two parts, the first
 * of which is exact times such an integer; and what e^r - 1 - r is made of, highest power first. */
static const uint32_t tw_power_constants[8] = {0x3fb8aa3b, 0x4b40007f, 0xbf317200, 0xb5bfbe8e,
                                               0x3c083128, 0x3d2b9532, 0x3e2aabd8, 0x3efffefe};

static inline void tw_room_begin(tw_room *room) {
  for (int i = 0; i < 8; i++) ((volatile uint32_t *)room->power)[i] = tw_power_constants[i];
}

/* For x between -87.3 and 88.3: x = 2^n as soon as its bits were there, z = e^r - 1, where e^x = 2^n * e^r. With the power's
 * constants in w, and 1 in ft3. */
static inline void tw_power_begin(tw_room *room) {
  TW_EIGHTS(TW_WITH(TW_VFMUL_R, "f16", "f8", "f24") TW_WITH(TW_VFADD_R, "f16", "f16", "f25"));
  tw_store_z((float *)room->bits);
  TW_EIGHTS(TW_WITH(TW_VFSUB_R, "f16", "f16", "f25") TW_WITH(TW_VFMAC_R, "f8", "f16", "f26") TW_WITH(TW_VFMAC_R, "f8", "f16", "f27")
            TW_WITH(TW_VFMUL_R, "f16", "f8", "f28") TW_WITH(TW_VFADD_R, "f16", "f16", "f29")
            TW_BOTH(TW_VFMUL, "f16", "f16", "f8") TW_WITH(TW_VFADD_R, "f16", "f16", "f30")
            TW_BOTH(TW_VFMUL, "f16", "f16", "f8") TW_WITH(TW_VFADD_R, "f16", "f16", "f31")
            TW_BOTH(TW_VFMUL, "f16", "f16", "f8") TW_WITH(TW_VFADD_R, "f16", "f16", "f3")
            TW_BOTH(TW_VFMUL, "f16", "f16", "f8"));
}

/* The integer core's part, four elements at a time: a load's result is not there at once. */
#define TW_BITS(room, EXPRESSION)                                     \
  do {                                                                \
    volatile uint32_t *const at = (room)->bits;                       \
    _Pragma("clang loop unroll(full)") for (int i = 0; i < TW_BLOCK; i += 4) { \
      uint32_t four[4];                                               \
      for (int j = 0; j < 4; j++) four[j] = at[i + j];                \
      for (int j = 0; j < 4; j++) {                                   \
        const uint32_t bits = four[j];                                \
        at[i + j] = EXPRESSION;                                       \
      }                                                               \
    }                                                                 \
  } while (0)

/* x = e^x */
static inline void tw_power(tw_room *room) {
  tw_power_begin(room);
  TW_BITS(room, bits << 23);
  tw_load_x((const float *)room->bits);
  TW_EIGHTS(TW_BOTH(TW_VFMAC, "f8", "f8", "f16"));
}

/* x = e^x - 1, also where that is small. */
static inline void tw_power_less_one(tw_room *room) {
  tw_power_begin(room);
  TW_BITS(room, bits << 23);
  tw_load_x((const float *)room->bits);
  TW_EIGHTS(TW_BOTH(TW_VFMUL, "f16", "f16", "f8") TW_WITH(TW_VFSUB_R, "f8", "f8", "f3") TW_BOTH(TW_VFADD, "f8", "f8", "f16"));
}

/* z = 1 / x of x between 1 and 2^125: a guess from the exponent, wrong by an eighth, and three times the square of what it is wrong
 * by. Two floats of 2 are in ft7; w is lost. */
static inline void tw_reciprocals(tw_room *room) {
#define TW_NEARER TW_BOTH(TW_VFMUL, "f24", "f8", "f16") TW_FROM(TW_VFSUB, "f24", "f7", "f24") TW_BOTH(TW_VFMUL, "f16", "f16", "f24")
  tw_store_x((float *)room->bits);
  TW_BITS(room, 0x7ef311c7u - bits);
  tw_load_z((const float *)room->bits);
  TW_EIGHTS(TW_NEARER TW_NEARER TW_NEARER);
#undef TW_NEARER
}

#endif
