/* Registers of instructions on their way to the floating-point unit, as bytes of a word. */
#ifndef TW_FPU_REGISTERS_H
#define TW_FPU_REGISTERS_H
#include "snitch/snitch.h"

/* Streams in the place of ft0 to ft2, byte by byte. */
static inline u32 with_streams(u32 registers) {
    u32 is_stream = ~(registers + 0x01010101u * (128 - STREAM_MOVERS)) >> 7 & 0x01010101u;
    return registers + is_stream * STREAM_REGISTER;
}
static inline u32 streams_read(u32 registers) {
    u64 named = 1ull << (registers >> 8 & 63) | 1ull << (registers >> 16 & 63) | 1ull << (registers >> 24);
    return (u32)(named >> STREAM_REGISTER);
}

/* Do others see when it begins? */
static inline u8 is_seen(const fpu_entry *e, u32 registers, u32 reads) { return e->of.is_access | (reads != 0) | ((registers & 63) > NO_REGISTER); }
#endif
