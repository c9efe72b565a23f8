/* Event unit: masks, event buffers, barriers, mutexes, dispatch FIFO, software events. */
#include "engine/sim.h"
#include "kinds/misuse.h"

enum { MAX_CLIENTS = 32, BARRIERS = 9, MUTEXES = 4, RING = 8 };
enum { LINE_BARRIER = 16, LINE_MUTEX = 17, LINE_DISPATCH = 18, LINE_SOC = 27 };
enum { AWAKE, WAITS, WAITS_AND_CLEARS, WAITS_FOR_WORK, WAITS_FOR_MUTEX };

typedef struct {
    u32 mask, irq_mask, buffer, state;
    u32 read;     /* own position in the dispatch ring */
    u32 granted;  /* value of the unlock that made this core the owner of a mutex */
} client;

typedef struct {
    u32 clients, team, write;
    client client[MAX_CLIENTS];
    struct { u32 trigger, status, target; } barrier[BARRIERS];
    struct { u32 locked, waiting; } mutex[MUTEXES];
    struct { u32 value, team; } ring[RING];
} event_unit;

static void wake(sim *s, event_unit *e, u32 id, u64 now, u32 value) {
    e->client[id].state = AWAKE;
    sim_wake(s, id, now + s->core[id].timing->elw_wake, value);
}

/* The next entry of the dispatch ring that is for this core; the others are skipped. */
static int take_work(event_unit *e, u32 id, u32 *value) {
    client *k = &e->client[id];
    while (k->read != e->write) {
        u32 slot = k->read++ % RING;
        if (!(e->ring[slot].team >> id & 1)) continue;
        *value = e->ring[slot].value;
        return 1;
    }
    return 0;
}

/* The lines that a sleeping core waits for. */
static u32 awaited(const client *k) {
    if (k->state == WAITS_FOR_WORK) return k->mask & 1u << LINE_DISPATCH;
    if (k->state == WAITS_FOR_MUTEX) return k->mask & 1u << LINE_MUTEX;
    return k->state == AWAKE ? 0 : k->mask;
}

/* A sleeping core goes on when one of its lines is up; all but the plain wait take the line down. */
static void check_client(sim *s, event_unit *e, u32 id, u64 now) {
    client *k = &e->client[id];
    u32 lines = awaited(k), value = 0;
    if (!(k->buffer & lines)) return;
    if (k->state != WAITS) k->buffer &= ~lines;
    if (k->state == WAITS_FOR_MUTEX) value = k->granted;
    if (k->state == WAITS_FOR_WORK) take_work(e, id, &value);
    wake(s, e, id, now, value);
}

static void raise(sim *s, event_unit *e, u32 cores, u32 line, u64 now) {
    for (u32 id = 0; id < e->clients; id++) {
        if (!(cores >> id & 1)) continue;
        e->client[id].buffer |= 1u << line;
        check_client(s, e, id, now);
    }
}

void event_raise(sim *s, u32 cores, u32 line, u64 now) {
    if (s->event_unit) raise(s, s->event_unit->state, cores, line, now);
}

/* A core is stopped while it may sleep here. */
void event_forget(sim *s, u32 id) {
    event_unit *e = s->event_unit ? s->event_unit->state : NULL;
    if (!e || id >= e->clients) return;
    e->client[id].state = AWAKE;
    for (u32 m = 0; m < MUTEXES; m++) e->mutex[m].waiting &= ~(1u << id);
}

static void check_barrier(sim *s, event_unit *e, u32 b, u64 now) {
    if (!e->barrier[b].trigger || e->barrier[b].status != e->barrier[b].trigger) return;
    e->barrier[b].status = 0;
    raise(s, e, e->barrier[b].target ? e->barrier[b].target : ~0u, LINE_BARRIER, now);
}

static void arrive(sim *s, event_unit *e, u32 b, u32 id, u64 now) {
    e->barrier[b].status |= 1u << id;
    check_barrier(s, e, b, now);
}

/* Sleep until a line is up; also when it is up already, it takes the way through sleep. */
static void wait_for_line(sim *s, event_unit *e, access *a, u32 state) {
    client *k = &e->client[a->core];
    u32 pending = k->buffer & k->mask;
    a->blocked = 1;
    if (!pending) {
        k->state = state;
        return;
    }
    if (state == WAITS_AND_CLEARS) k->buffer &= ~k->mask;
    wake(s, e, a->core, a->now, state == WAITS ? pending : 0);
}

static void pop_work(event_unit *e, access *a) {
    if (take_work(e, a->core, &a->value)) return;
    e->client[a->core].state = WAITS_FOR_WORK;
    a->blocked = 1;
}

/* Has somebody still to take what lies where the next entry goes? */
static int is_full(const event_unit *e) {
    u32 oldest = e->write - RING, team = e->write >= RING ? e->ring[e->write % RING].team : 0;
    for (u32 id = 0; id < e->clients; id++)
        if ((team >> id & 1) && e->client[id].read <= oldest) return 1;
    return 0;
}

/* Those who wait for work get it, those outside of the team skip it in their sleep. */
static void push_work(sim *s, event_unit *e, u32 value, u64 now) {
    u32 at = e->write++;
    e->ring[at % RING].value = value;
    e->ring[at % RING].team = e->team;
    for (u32 id = 0; id < e->clients; id++) {
        client *k = &e->client[id];
        if (k->state != WAITS_FOR_WORK) continue;
        if (e->team >> id & 1) raise(s, e, 1u << id, LINE_DISPATCH, now);
        else if (k->read == at) k->read++;
    }
}

static void lock(event_unit *e, access *a, u32 m) {
    a->value = 0;
    if (!e->mutex[m].locked) {
        e->mutex[m].locked = 1;
        return;
    }
    e->mutex[m].waiting |= 1u << a->core;
    e->client[a->core].state = WAITS_FOR_MUTEX;
    a->blocked = 1;
}

static void unlock(sim *s, event_unit *e, u32 m, u32 value, u64 now) {
    if (!e->mutex[m].waiting) {
        e->mutex[m].locked = 0;
        return;
    }
    u32 owner = (u32)__builtin_ctz(e->mutex[m].waiting);
    e->mutex[m].waiting &= e->mutex[m].waiting - 1;
    e->client[owner].granted = value;
    raise(s, e, 1u << owner, LINE_MUTEX, now);
}

static void software_event(sim *s, event_unit *e, u32 line, u32 cores, u64 now) { raise(s, e, cores ? cores : ~0u, line, now); }

static u32 client_read(const client *k, u32 offset) {
    switch (offset) {
    case 0x00: return k->mask;
    case 0x0c: return k->irq_mask;
    case 0x1c: return k->buffer;
    case 0x20: return k->buffer & k->mask;
    case 0x24: return k->buffer & k->irq_mask;
    default: return 0;
    }
}

static void client_write(sim *s, event_unit *e, u32 id, u32 offset, u32 value, u64 now) {
    client *k = &e->client[id];
    switch (offset) {
    case 0x00: k->mask = value; break;
    case 0x04: k->mask &= ~value; break;
    case 0x08: k->mask |= value; break;
    case 0x0c: k->irq_mask = value; break;
    case 0x10: k->irq_mask &= ~value; break;
    case 0x14: k->irq_mask |= value; break;
    case 0x28: k->buffer &= ~value; break;
    default: return;
    }
    check_client(s, e, id, now);
}

static void barrier_read(sim *s, event_unit *e, access *a, u32 b, u32 offset) {
    a->value = 0;
    switch (offset) {
    case 0x00: a->value = e->barrier[b].trigger; break;
    case 0x04: a->value = e->barrier[b].status; break;
    case 0x08: for (u32 i = 1; i < BARRIERS; i++) a->value |= e->barrier[i].status; break;
    case 0x0c: a->value = e->barrier[b].target; break;
    case 0x14: arrive(s, e, b, a->core, a->now); break;
    case 0x18: arrive(s, e, b, a->core, a->now); wait_for_line(s, e, a, WAITS); break;
    case 0x1c: arrive(s, e, b, a->core, a->now); wait_for_line(s, e, a, WAITS_AND_CLEARS); break;
    default: break;
    }
}

static void barrier_write(sim *s, event_unit *e, access *a, u32 b, u32 offset) {
    switch (offset) {
    case 0x00: e->barrier[b].trigger = a->value; break;
    case 0x04: e->barrier[b].status = a->value; break;
    case 0x0c: e->barrier[b].target = a->value; break;
    case 0x10: e->barrier[b].status |= a->value; break;
    case 0x14: arrive(s, e, b, a->core, a->now); return;
    default: return;
    }
    check_barrier(s, e, b, a->now);
}

/* Of a core's own registers [S 3.1]: those that are only written, those that are only read, those that are not there. */
static int is_write_only(u32 o) {
    if (o >= 0x200) return o % 0x20 == 0x10;
    return o == 0x04 || o == 0x08 || o == 0x10 || o == 0x14 || o == 0x28 || o == 0x84 || (o >= 0x100 && o < 0x120);
}
static int is_read_only(u32 o) {
    if (o >= 0x200) return o % 0x20 == 0x08 || o % 0x20 >= 0x18;
    return o == 0x1c || o == 0x20 || o == 0x24 || o == 0x38 || o == 0x3c;
}
static int is_absent(u32 o) {
    u32 last_mutex = 0xc0 + 4 * (MUTEXES - 1);
    return o == 0x18 || (o > last_mutex && o < 0x100) || (o >= 0x120 && o < 0x200) || o >= 0x200 + 0x20 * BARRIERS;
}

static void check_local(sim *s, const access *a) {
    check_misuse(s, MISUSE_ABSENT, is_absent(a->offset), a);
    if (a->is_write) check_misuse(s, MISUSE_READ_ONLY, is_read_only(a->offset), a);
    else check_misuse(s, MISUSE_WRITE_ONLY, is_write_only(a->offset), a);
}

/* The view that each core has of its own registers. */
static void local_read(sim *s, device *d, access *a) {
    event_unit *e = d->state;
    u32 o = a->offset;
    check_local(s, a);
    if (a->core >= e->clients) a->value = 0;
    else if (o == 0x38) wait_for_line(s, e, a, WAITS);
    else if (o == 0x3c) wait_for_line(s, e, a, WAITS_AND_CLEARS);
    else if (o < 0x40) a->value = client_read(&e->client[a->core], o);
    else if (o == 0x80) pop_work(e, a);
    else if (o == 0x84) a->value = e->team;
    else if (o >= 0xc0 && o < 0x100) lock(e, a, o / 4 % MUTEXES);
    else if (o >= 0x200 && o < 0x200 + 0x20 * BARRIERS) barrier_read(s, e, a, (o - 0x200) / 0x20, o % 0x20);
    else a->value = 0;
}

static void local_write(sim *s, device *d, access *a) {
    event_unit *e = d->state;
    u32 o = a->offset;
    check_local(s, a);
    check_misuse(s, MISUSE_DISPATCH_FULL, o == 0x80 && is_full(e), a);
    if (o < 0x40 && a->core < e->clients) client_write(s, e, a->core, o, a->value, a->now);
    else if (o == 0x80) push_work(s, e, a->value, a->now);
    else if (o == 0x84) e->team = a->value;
    else if (o >= 0xc0 && o < 0x100) unlock(s, e, o / 4 % MUTEXES, a->value, a->now);
    else if (o >= 0x100 && o < 0x120) software_event(s, e, (o - 0x100) / 4, a->value, a->now);
    else if (o >= 0x200 && o < 0x200 + 0x20 * BARRIERS) barrier_write(s, e, a, (o - 0x200) / 0x20, o % 0x20);
}

static void local_reset(sim *s, device *d) {
    event_unit *e = d->state;
    u32 wanted = d->description->parameters[0];
    *e = (event_unit){.clients = wanted < MAX_CLIENTS ? wanted : MAX_CLIENTS};
    s->event_unit = d;
}

static u64 no_tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

/* The view from outside: every core's registers side by side. */
static void outer_read(sim *s, device *d, access *a) {
    (void)d;
    event_unit *e = s->event_unit->state;
    u32 id = a->offset / 0x40;
    a->value = id < e->clients ? client_read(&e->client[id], a->offset % 0x40) : 0;
}

static void outer_write(sim *s, device *d, access *a) {
    (void)d;
    event_unit *e = s->event_unit->state;
    u32 id = a->offset / 0x40;
    if (id < e->clients) client_write(s, e, id, a->offset % 0x40, a->value, a->now);
    if (a->offset >= 0x600 && a->offset < 0x620) software_event(s, e, (a->offset - 0x600) / 4, a->value, a->now);
}

static void outer_reset(sim *s, device *d) { (void)s, (void)d; }

const device_type EVENT_UNIT = {.name = "event unit", .state_bytes = sizeof(event_unit), .reset = local_reset, .read = local_read, .write = local_write, .tick = no_tick};
const device_type EVENT_UNIT_OUTER = {.name = "event unit, outer view", .state_bytes = 0, .reset = outer_reset, .read = outer_read, .write = outer_write, .tick = no_tick};
