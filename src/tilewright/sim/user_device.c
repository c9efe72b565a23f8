/* The place of a user's device on the bus: everything goes on to what was attached. */
#include "user_device.h"
#include "sim.h"

typedef struct {
    tw_user_device callbacks;
    tw_host host;
    u32 is_attached;
    u8 state[TW_STATE_LIMIT];
} user_device;

static int host_read(void *sim_, u32 address, void *data, u32 size) {
    const u8 *at = bus_pointer(sim_, 0, address, size);
    if (at) memcpy(data, at, size);
    return at != NULL;
}

static int host_write(void *sim_, u32 address, const void *data, u32 size) {
    u32 offset;
    memory *m = bus_memory(sim_, 0, address, size, &offset);
    if (!m) return 0;
    memcpy(m->data + offset, data, size);
    check_written(m, offset, size);
    return 1;
}

static void host_raise(void *sim_, u32 cores, u32 line, u64 now) { event_raise(sim_, cores, line, now); }

void user_device_attach(sim *s, device *d, const tw_user_device *callbacks) {
    user_device *u = d->state;
    u->callbacks = *callbacks;
    u->host = (tw_host){s, host_read, host_write, host_raise};
    u->is_attached = 1;
    memset(u->state, 0, sizeof u->state);
    u->callbacks.reset(u->state);
}

static void read(sim *s, device *d, access *a) {
    (void)s;
    user_device *u = d->state;
    a->value = u->is_attached ? u->callbacks.read(u->state, &u->host, a->offset, a->now) : 0;
}

static void write(sim *s, device *d, access *a) {
    user_device *u = d->state;
    if (!u->is_attached) return;
    u->callbacks.write(u->state, &u->host, a->offset, a->value, a->now);
    sim_schedule(s, d->actor, a->now + 1);
}

static u64 tick(sim *s, device *d, u64 now) {
    (void)s;
    user_device *u = d->state;
    u64 next = u->callbacks.tick(u->state, &u->host, now);
    if (next <= now) next = now + 1;
    if (next != NEVER) d->busy += next - now;
    return next;
}

static void reset(sim *s, device *d) { (void)s, memset(d->state, 0, sizeof(user_device)); }

const device_type USER_DEVICE = {"user device", sizeof(user_device), reset, read, write, tick};
