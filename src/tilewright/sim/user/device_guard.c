/* Linked to a user's device in C: a call of it that does not come back can be left from outside. Who watches looks at how many
 * calls there were and whether one is under way, and sends the thread GUARD_SIGNAL; the call then ends here as if nothing were due,
 * and `hung` is told. While the device asks the host for something it is not left: that may be anybody's code. */
#include <setjmp.h>
#include <signal.h>

#include "user_device.h"

#define EXPORT __attribute__((visibility("default")))
enum { GUARD_SIGNAL = SIGURG /* which nobody minds where it comes too late */ };

typedef struct {
    volatile uint64_t calls, left; /* how many there were, and the one that is to be left */
    volatile uint32_t is_inside, function;
    void (*hung)(uint32_t function);
    sigjmp_buf before;
} guard_state;

static _Thread_local guard_state guard;

static void leave(int number) {
    (void)number;
    if (guard.is_inside && guard.left == guard.calls) siglongjmp(guard.before, 1);
}

/* Of the thread that asks; from now on its calls may be left. */
EXPORT guard_state *tw_guard(void (*hung)(uint32_t function)) {
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};
    sigaction(GUARD_SIGNAL, &action, NULL);
    guard.hung = hung;
    return &guard;
}

EXPORT int tw_guard_signal(void) { return GUARD_SIGNAL; }

/* ---- the host, as the device sees it ---- */

typedef struct {
    tw_host seen;
    const tw_host *real;
} guarded_host;

static const tw_host *out(const void *host) {
    guard.is_inside = 0;
    return ((const guarded_host *)host)->real;
}

#define ASK(call) do { const tw_host *h = out(host); call; guard.is_inside = 1; } while (0)
#define ANSWER(call) do { const tw_host *h = out(host); const int found = call; guard.is_inside = 1; return found; } while (0)

static int host_read(void *host, uint32_t at, void *data, uint32_t size) { ANSWER(h->read(h->sim, at, data, size)); }
static int host_write(void *host, uint32_t at, const void *data, uint32_t size) { ANSWER(h->write(h->sim, at, data, size)); }
static void raise_event(void *host, uint32_t cores, uint32_t line, uint64_t now) { ASK(h->raise_event(h->sim, cores, line, now)); }
static void claim(const tw_host *host, uint32_t at, uint32_t size, int is_write) { ASK(h->claim(h, at, size, is_write)); }
static void release(const tw_host *host) { ASK(h->release(h)); }
static void misuse(const tw_host *host, uint32_t what) { ASK(h->misuse(h, what)); }
static int is_checked(const tw_host *host) { ANSWER(h->is_checked(h)); }
static void move(const tw_host *host, const tw_part *part, int is_write) { ASK(h->move(h, part, is_write)); }
static void work(const tw_host *host, uint64_t cycles, double rate, int overlapped, uint64_t now) { ASK(h->work(h, cycles, rate, overlapped, now)); }
static void core_waits(const tw_host *host, uint32_t cycles) { ASK(h->wait(h, cycles)); }
static void fail(const tw_host *host, const char *sentence) { ASK(h->fail(h, sentence)); }

static uint32_t bank(const tw_host *host, uint32_t at, uint32_t size, uint64_t now) {
    const tw_host *h = out(host);
    const uint32_t cycles = h->bank(h, at, size, now);
    guard.is_inside = 1;
    return cycles;
}

/* The same for every call, since a device may keep it; two machines share a thread one after the other. */
static guarded_host *of(const tw_host *real) {
    enum { MOST = 32 };
    static _Thread_local guarded_host known[MOST];
    static _Thread_local int next;
    for (int i = 0; i < MOST; i++)
        if (known[i].real == real) return &known[i];
    guarded_host *found = &known[next++ % MOST];
    *found = (guarded_host){{found, host_read, host_write, raise_event, claim, release, misuse, is_checked, move, work,
                             bank, core_waits, fail}, real};
    return found;
}

/* ---- the device, as the host sees it ---- */

enum { RESET, READ, WRITE, TICK };
static const tw_user_device *device;

static void end(void) { guard.is_inside = 0; }

static void was_left(uint32_t function) {
    end();
    if (guard.hung) guard.hung(function);
}

#define CALL(number, call) do { \
    guard.calls++; \
    guard.function = number; \
    if (sigsetjmp(guard.before, 0)) { was_left(number); break; } \
    guard.is_inside = 1; \
    call; \
    end(); } while (0)

static void reset(void *state) { CALL(RESET, device->reset(state)); }

static uint32_t read(void *state, const tw_host *host, uint32_t offset, uint64_t now) {
    const tw_host *seen = &of(host)->seen;
    volatile uint32_t value = 0;
    CALL(READ, value = device->read(state, seen, offset, now));
    return value;
}

static void write(void *state, const tw_host *host, uint32_t offset, uint32_t value, uint64_t now) {
    const tw_host *seen = &of(host)->seen;
    CALL(WRITE, device->write(state, seen, offset, value, now));
}

static uint64_t tick(void *state, const tw_host *host, uint64_t now) {
    const tw_host *seen = &of(host)->seen;
    volatile uint64_t next = TW_NEVER;
    CALL(TICK, next = device->tick(state, seen, now));
    return next;
}

#pragma weak tw_device /* who loads the library says so where a file does not define it */

/* The device with all its functions guarded, or one that lacks something as it is. */
EXPORT const tw_user_device *tw_guarded_device(void) {
    static tw_user_device guarded;
    device = tw_device();
    if (!device || !device->reset || !device->read || !device->write || !device->tick) return device;
    guarded = (tw_user_device){device->state_bytes, reset, read, write, tick};
    return &guarded;
}
