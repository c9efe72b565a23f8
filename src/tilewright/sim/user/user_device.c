/* The place of a user's device on the bus: everything goes on to what was attached. */
#include "user/user_device.h"
#include "kinds/misuse.h"
#include "engine/sim.h"
#include "user/streams.h"

extern const device_type USER_DEVICE;

enum { MOST_CLAIMS = 64, SHOWN_REGISTERS = 256, LONGEST_SENTENCE = 512 };
typedef struct {
    u32 start, end, is_write;
} claimed;

typedef struct {
    tw_user_device callbacks;
    tw_host host;
    u32 is_attached, is_working, claims, is_called;
    u32 is_moving, waits;                /* waits: cycles of the core whose access is answered */
    streams moved;
    claimed claim[MOST_CLAIMS];
    const access *now;                   /* the core's access that is being answered */
    u32 shown[SHOWN_REGISTERS];          /* what was written or read last, for who asks what went wrong */
    char said[LONGEST_SENTENCE];         /* why it gave up */
    u8 state[TW_STATE_LIMIT];
} user_device;

/* The device that is asked right now reaches for what is not there. */
static int no_memory(sim *s, u32 address, u32 size, u32 is_write) {
    if (s->fault.reason) return 0;
    sim_fault(s, FAULT_DEVICE, NULL, 0, s->queue.now, address, size, is_write);
    for (u32 i = 0; i < s->devices; i++)
        if (s->device[i].type == &USER_DEVICE && ((const user_device *)s->device[i].state)->is_called) s->fault.value = i + 1;
    return 0;
}

static int host_read(void *sim_, u32 address, void *data, u32 size) {
    const u8 *at = bus_pointer(sim_, 0, address, size);
    if (!at) return no_memory(sim_, address, size, 0);
    memcpy(data, at, size);
    return 1;
}

static int host_write(void *sim_, u32 address, const void *data, u32 size) {
    u32 offset;
    memory *m = bus_memory(sim_, 0, address, size, &offset);
    if (!m) return no_memory(sim_, address, size, 1);
    memcpy(m->data + offset, data, size);
    check_written(m, offset, size);
    return 1;
}

static void host_raise(void *sim_, u32 cores, u32 line, u64 now) { event_raise(sim_, cores, line, now); }

static user_device *of_host(const tw_host *host) { return (user_device *)((u8 *)host - offsetof(user_device, host)); }

static int is_checked(const tw_host *host) { return (((const sim *)host->sim)->checker.checks & CHECK_MISUSE) != 0; }

static void claim(const tw_host *host, u32 address, u32 size, int is_write) {
    user_device *u = of_host(host);
    u->is_working = 1;
    if (u->claims == MOST_CLAIMS || !size) return;
    u->claim[u->claims++] = (claimed){address, address + size, is_write != 0};
}

static void release(const tw_host *host) { of_host(host)->claims = of_host(host)->is_working = 0; }

static void misuse(const tw_host *host, u32 what) {
    user_device *u = of_host(host);
    if (u->now) check_misuse(host->sim, what == TW_MISUSE_BUSY ? MISUSE_UNIT_BUSY : MISUSE_UNIT_ACCESS, 1, u->now);
}

static void move(const tw_host *host, const tw_part *part, int is_write) { streams_move(&of_host(host)->moved, part, is_write); }

static void work(const tw_host *host, u64 cycles, double bytes_per_cycle, int overlapped, u64 now) {
    user_device *u = of_host(host);
    u->is_moving = 1;
    streams_begin(&u->moved, cycles, bytes_per_cycle, overlapped, now + 1);
}

static u32 bank(const tw_host *host, u32 address, u32 size, u64 now) {
    sim *s = host->sim;
    u32 offset, wait = 0;
    memory *m = bus_memory(s, 0, address, size, &offset);
    if (!m) return 0;
    for (u32 word = 0; word < (size + 3) / 4 && word < m->banks; word++) wait = (u32)later(wait, bank_wait(m, offset + 4 * word, now));
    return wait;
}

static void wait_for(const tw_host *host, u32 cycles) { of_host(host)->waits += cycles; }

static void fail(const tw_host *host, const char *sentence) {
    user_device *u = of_host(host);
    sim *s = host->sim;
    if (s->fault.reason) return;
    for (u32 i = 0; i < LONGEST_SENTENCE - 1 && (u->said[i] = sentence[i]); i++) {}
    sim_fault(s, FAULT_DEVICE, NULL, 0, u->now ? u->now->now : s->queue.now, 0, 0, 0);
    for (u32 i = 0; i < s->devices; i++)
        if (s->device[i].state == u) s->fault.value = i + 1;
}

/* Does a core touch what a job writes, or write what it reads? */
static int conflicts(const sim *s, const device *d, const memory *m, u32 address, u32 size, u32 is_write) {
    (void)s, (void)m;
    const user_device *u = d->state;
    for (u32 k = 0; k < u->claims; k++) {
        const claimed *c = &u->claim[k];
        if ((is_write || c->is_write) && address < c->end && address + size > c->start) return 1;
    }
    return 0;
}

static int is_at_work(const device *d) { return (int)((const user_device *)d->state)->is_working; }

/* What was written to or read from the first registers last. */
EXPORT void tw_device_shown(const sim *s, u32 index, u32 *values, u32 count) {
    memcpy(values, ((const user_device *)s->device[index].state)->shown, count * 4);
}

/* Why it gave up, or nothing. */
EXPORT const char *tw_device_said(const sim *s, u32 index) { return ((const user_device *)s->device[index].state)->said; }

static void show(user_device *u, u32 offset, u32 value) {
    if (offset / 4 < SHOWN_REGISTERS) u->shown[offset / 4] = value;
}

EXPORT void tw_attach(sim *s, u32 index, const tw_user_device *callbacks) {
    user_device *u = s->device[index].state;
    u->callbacks = *callbacks;
    u->host = (tw_host){s, host_read, host_write, host_raise, claim, release, misuse, is_checked, move, work, bank, wait_for, fail};
    u->is_attached = 1;
    memset(u->state, 0, sizeof u->state);
    u->callbacks.reset(u->state);
}

/* The core whose access is answered, if it is one. */
static void call(user_device *u, const access *a) { u->now = a, u->is_called = 1, u->waits = 0; }
static void called(user_device *u) { u->now = NULL, u->is_called = 0; }

static void read(sim *s, device *d, access *a) {
    (void)s;
    user_device *u = d->state;
    call(u, a);
    a->value = u->is_attached ? u->callbacks.read(u->state, &u->host, a->offset, a->now) : 0;
    called(u);
    a->wait = u->waits;
    show(u, a->offset, a->value);
}

static void write(sim *s, device *d, access *a) {
    user_device *u = d->state;
    if (!u->is_attached) return;
    call(u, a);
    u->callbacks.write(u->state, &u->host, a->offset, a->value, a->now);
    called(u);
    a->wait = u->waits;
    show(u, a->offset, a->value);
    sim_schedule(s, d->actor, a->now + 1);
}

static u64 tick(sim *s, device *d, u64 now) {
    user_device *u = d->state;
    if (u->is_moving) {
        const u64 due = streams_go_on(s, &u->moved, now);
        d->busy += due - now;
        if (due > now) return due;
        u->is_moving = 0;
        probe_job(s, d, u->moved.started, now);
    }
    call(u, NULL);
    u64 next = u->callbacks.tick(u->state, &u->host, now);
    called(u);
    if (next <= now) next = now + 1;
    if (next == NEVER) return NEVER;
    d->busy += next - now;
    probe_job(s, d, now, next);
    return next;
}

static void reset(sim *s, device *d) { (void)s, memset(d->state, 0, sizeof(user_device)); }

const device_type USER_DEVICE = {.name = "user device", .state_bytes = sizeof(user_device), .reset = reset, .read = read, .write = write, .tick = tick,
    .conflicts = conflicts,
    .conflict = FAULT_MISUSE,
    .is_at_work = is_at_work,
    .takes_narrow = 1,
    .joins_jobs = 1};
