/* A multiply-accumulate engine: the sum of n products of 32-bit words, one product per cycle, an event at the end.
 * Registers: 0 address of a, 4 address of b, 8 n (a write starts), 12 result, 16 busy. */
#include "user_device.h"

enum { A = 0, B = 4, COUNT = 8, RESULT = 12, BUSY = 16, CYCLES_PER_MAC = 1, SETUP = 3, LINE = 5 };

typedef struct {
    uint32_t a, b, n, result;
    uint64_t done;
} engine;

static void reset(void *state) { ((engine *)state)->done = 0; }

static uint32_t read(void *state, const tw_host *host, uint32_t offset, uint64_t now) {
    const engine *e = state;
    (void)host;
    return offset == RESULT ? e->result : offset == BUSY ? now < e->done : 0;
}

static void write(void *state, const tw_host *host, uint32_t offset, uint32_t value, uint64_t now) {
    engine *e = state;
    (void)host;
    if (offset == A) e->a = value;
    if (offset == B) e->b = value;
    if (offset != COUNT) return;
    e->n = value;
    e->done = now + SETUP + value * CYCLES_PER_MAC;
}

static void finish(engine *e, const tw_host *host) {
    e->result = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t x = 0, y = 0;
        host->read(host->sim, e->a + 4 * i, &x, 4);
        host->read(host->sim, e->b + 4 * i, &y, 4);
        e->result += x * y;
    }
    e->n = 0;
}

static uint64_t tick(void *state, const tw_host *host, uint64_t now) {
    engine *e = state;
    if (!e->n) return TW_NEVER;
    if (now < e->done) return e->done;
    finish(e, host);
    host->raise_event(host->sim, 1, LINE, now);
    return TW_NEVER;
}

const tw_user_device *tw_device(void) {
    static const tw_user_device DEVICE = {sizeof(engine), reset, read, write, tick};
    return &DEVICE;
}
