/* The host interface: a store to `tohost` ends the run (an odd value) or calls the host (the address of eight 64-bit words:
 * number of the call, arguments). */
#include "engine/sim.h"

enum { CALL_WRITE = 64, CALL_BYTES = 64 };

static u64 word(const u8 *at) {
    u64 value;
    memcpy(&value, at, 8);
    return value;
}

static u64 call(sim *s, const u8 *arguments) {
    if (word(arguments) != CALL_WRITE) return ~0ull;
    u32 length = (u32)word(arguments + 24);
    const u8 *text = bus_pointer(s, 0, (u32)word(arguments + 16), length);
    if (!text) return ~0ull;
    sim_print(s, (const char *)text, length);
    return length;
}

static void answer(sim *s, u32 address, u64 value) {
    u8 *at = bus_pointer(s, 0, address, 8);
    if (at) memcpy(at, &value, 8);
}

/* After the value was stored. */
void host_store(sim *s, u32 value) {
    if (value & 1) {
        s->exited = 1;
        s->exit_code = value >> 1;
        return;
    }
    const u8 *arguments = value ? bus_pointer(s, 0, value, CALL_BYTES) : NULL;
    if (!arguments) return;
    answer(s, value, call(s, arguments));
    answer(s, s->tohost, 0);
    if (s->fromhost) answer(s, s->fromhost, 1);
}
