/* MCHAN DMA: one port per core and one from outside, 16 transfer counters, two global queues (in, out), four TCDM ports.
 * "In" is external memory to TCDM. Ports 0 and 1 write words of the oldest inbound bursts, ports 2 and 3 read for the
 * outbound one. */
#include "engine/sim.h"
#include "kinds/misuse.h"

/* Sources: [c11] ... = calibration program that measures it; [S n] = section n of the programmer's model. Numbers are cycles. */
enum {
    DMA_BURST_BYTES = 256,   /* [S 6] */
    DMA_BURSTS_AHEAD = 8,    /* [S 6] unfinished bursts per direction */
    DMA_READ_OVERHEAD = 5,   /* [c12 l2_lw] cycles that a full inbound burst keeps each L2 bank beyond its words; fitted */
    DMA_WRITE_OVERHEAD = 8,  /* [c12 l2_lw] the same of an outbound burst while data comes in; fitted. Alone it has none */
    DMA_PORT_QUEUE = 2,      /* [c11 16_cmds] */
    DMA_GLOBAL_QUEUE = 8,    /* [S 6] */
    DMA_COUNTERS = 16,       /* [c11 alloc16] */
};

enum { MAX_PORTS = 40, TCDM_PORTS = 4, LINE_EVENT = 8, LINE_IRQ = 9, LINE_OUTER = 22, WORDS = 5, OUT = 0, IN = 1 };

typedef struct {
    u32 tcdm, external, left, row, row_left, row_start, stride, is_2d, direction, counter, port, raise_event, raise_irq, broadcast;
    u32 core, pc; /* who gave it, where */
    u32 bytes;
    u64 since;
} command;

typedef struct {
    command entry[DMA_GLOBAL_QUEUE];
    u32 used;
} command_queue;

typedef struct {
    u8 data[DMA_BURST_BYTES], known[DMA_BURST_BYTES]; /* known: which of them were ever written */
    u32 tcdm, external, size, done, counter;
    command origin;
    u64 ready;
} burst;

typedef struct {
    command_queue queue;
    u32 word[WORDS], words, counter;
    u32 blocked, blocked_value;      /* a store that waits for a place in the queue */
    u32 core, pc;                    /* the last store */
    u32 wants_counter, waiter;       /* waiter: the core that is kept waiting */
} port;

typedef struct {
    u32 ports, outer_port, next_port, free_counters;
    i64 pending[DMA_COUNTERS];
    port port[MAX_PORTS];
    command_queue global[2];
    command current[2];
    u32 has_current[2];
    burst in[DMA_BURSTS_AHEAD];
    u32 in_first, in_used;
    burst out;
    u32 has_out, is_moving;  /* is_moving: words moved in the cycle before */
    u64 port_free[TCDM_PORTS];
    memory *tcdm;
    u64 bytes[2], since[DMA_COUNTERS];   /* since: the counter has bytes pending */
    u32 directions[DMA_COUNTERS];        /* of the commands that it counts, as a mask */
} mchan;

static void push(command_queue *q, const command *k) { q->entry[q->used++] = *k; }

static command take(command_queue *q, u32 at) {
    command k = q->entry[at];
    memmove(&q->entry[at], &q->entry[at + 1], (--q->used - at) * sizeof k);
    return k;
}

static void finish_bytes(sim *s, mchan *m, const command *k, u32 bytes, u64 now) {
    m->bytes[k->direction] += bytes;
    m->pending[k->counter] -= bytes;
    if (m->pending[k->counter]) return;
    static const u32 NAMES[] = {0, SPAN_DMA_OUT, SPAN_DMA_IN, SPAN_DMA_BOTH};
    observe_span(s, s->cores + s->devices + k->counter, NAMES[m->directions[k->counter]], m->since[k->counter], now);
    u32 cores = k->broadcast ? ~0u : 1u << (k->port & 31);
    if (k->port == m->outer_port) event_raise(s, ~0u, LINE_OUTER, now);
    else {
        if (k->raise_event) event_raise(s, cores, LINE_EVENT, now);
        if (k->raise_irq) event_raise(s, cores, LINE_IRQ, now);
    }
}

/* A burst has moved its last byte; if it was the command's last, it is noted. */
static void end_burst(sim *s, const command *k, u64 now) {
    if (k->left) return;
    const dma_transfer done = {k->since, now, k->core, k->direction, k->bytes, k->counter};
    probe_transfer(s, &done);
}

/* Rows on the TCDM side do not exist, empty rows would never end. */
static void refuse(sim *s, const command *k, u32 head, u64 now) {
    sim_fault(s, FAULT_COMMAND, &s->core[k->core], k->pc, now, 0, k->row, 0);
    s->fault.value = head;
}

/* A port's command is complete after 3 words, or 5 in 2D. */
static void accept_word(sim *s, mchan *m, u32 id, u32 value, u64 now) {
    port *p = &m->port[id];
    p->word[p->words++] = value;
    u32 head = p->word[0], is_2d = head >> 19 & 1;
    if (p->words < (is_2d ? 5u : 3u)) return;
    p->words = 0;
    command k = {.tcdm = p->word[1], .external = p->word[2], .left = head & 0x1ffff, .direction = head >> 17 & 1, .is_2d = is_2d,
                 .counter = p->counter, .port = id, .raise_event = head >> 20 & 1, .raise_irq = head >> 21 & 1,
                 .broadcast = head >> 22 & 1, .since = now};
    k.core = p->core, k.pc = p->pc, k.bytes = k.left;
    k.row = k.row_left = is_2d ? p->word[3] : k.left;
    k.stride = is_2d ? p->word[4] : 0;
    k.row_start = k.external;
    if ((is_2d && !k.row) || head >> 23 & 1) {
        refuse(s, &k, head, now);
        return;
    }
    if (!m->pending[k.counter]) m->since[k.counter] = now, m->directions[k.counter] = 0;
    m->directions[k.counter] |= 1u << k.direction;
    const access a = {.core = p->core, .pc = p->pc, .now = now, .is_write = 1};
    check_misuse(s, MISUSE_NO_COUNTER, (int)(m->free_counters >> k.counter & 1), &a);
    check_misuse(s, MISUSE_LENGTH, !k.left || k.left % k.row || !(head >> 18 & 1), &a);
    m->pending[k.counter] += k.left;
    push(&p->queue, &k);
}

/* One command per cycle goes from the ports to a global queue, inbound ones first. */
static int move_command(sim *s, mchan *m, u32 direction, u64 now) {
    if (m->global[direction].used == DMA_GLOBAL_QUEUE) return 0;
    for (u32 i = 0; i < m->ports; i++) {
        u32 id = (m->next_port + i) % m->ports;
        port *p = &m->port[id];
        for (u32 at = 0; at < p->queue.used; at++) {
            command *k = &p->queue.entry[at];
            if (k->direction != direction || k->since >= now) continue;
            command moved = take(&p->queue, at);
            push(&m->global[direction], &moved);
            m->next_port = (m->next_port + 1) % m->ports;
            if (p->blocked) {
                p->blocked = 0;
                accept_word(s, m, id, p->blocked_value, now);
                sim_wake(s, p->waiter, now + 1, 0);
            }
            return 1;
        }
    }
    return 0;
}

/* Cut the next burst off a command: at most 256 bytes, at most the rest of the row. */
static burst cut(mchan *m, u32 direction, u64 now) {
    command *k = &m->current[direction];
    u32 size = k->row_left < k->left ? k->row_left : k->left;
    if (size > DMA_BURST_BYTES) size = DMA_BURST_BYTES;
    burst b = {.tcdm = k->tcdm, .external = k->external, .size = size, .counter = k->counter, .ready = now + !m->is_moving};
    k->tcdm += size, k->external += size, k->left -= size, k->row_left -= size;
    if (k->is_2d && !k->row_left) {
        k->row_left = k->row;
        k->external = k->row_start += k->stride;
    }
    b.origin = *k;
    m->has_current[direction] = k->left != 0;
    return b;
}

static int next_command(mchan *m, u32 direction) {
    if (m->has_current[direction]) return 1;
    if (!m->global[direction].used) return 0;
    m->current[direction] = take(&m->global[direction], 0);
    return m->has_current[direction] = 1;
}

/* The external side: data moves at once, the banks are booked for it. */
static void external(sim *s, burst *b, int is_write, u32 overhead, u64 now) {
    u32 offset = 0;
    memory *m = bus_memory(s, 0, b->external, b->size, &offset);
    u32 objection = !m ? FAULT_DEVICE : is_write ? check_device_write(s, m, offset, b->size) : FAULT_NONE;
    if (objection) {
        sim_fault(s, objection, &s->core[b->origin.core], b->origin.pc, now, b->external, b->size, (u32)is_write);
        return;
    }
    if (is_write) memcpy(m->data + offset, b->data, b->size), m->bytes_written += b->size, check_carry(m, offset, b->size, b->known);
    else memcpy(b->data, m->data + offset, b->size), m->bytes_read += b->size, check_take(m, offset, b->size, b->known);
    m->dma_bytes += b->size;
    for (u32 at = offset & ~3u; at < offset + b->size; at += 4) bank_wait(m, at, now);
    if (m->hides_wait)
        for (u32 bank = 0; bank < m->banks; bank++) m->free[bank] += overhead * b->size / DMA_BURST_BYTES;
}

static void issue_inbound(sim *s, mchan *m, u64 now) {
    if (m->in_used == DMA_BURSTS_AHEAD || !next_command(m, IN)) return;
    burst *b = &m->in[(m->in_first + m->in_used++) % DMA_BURSTS_AHEAD];
    *b = cut(m, IN, now);
    external(s, b, 0, DMA_READ_OVERHEAD, now);
}

static void set_up_outbound(mchan *m, u64 now) {
    if (m->has_out || !next_command(m, OUT)) return;
    m->out = cut(m, OUT, now);
    m->has_out = 1;
}

/* One word (up to the next word boundary) through a TCDM port. */
static u32 move_word(sim *s, mchan *m, burst *b, u32 id, u64 now) {
    u32 address = (b->tcdm + b->done) & 0xfffff, size = 4 - (address & 3);
    if (size > b->size - b->done) size = b->size - b->done;
    u32 objection = address + size > m->tcdm->size ? FAULT_DEVICE : id < 2 ? check_device_write(s, m->tcdm, address, size) : FAULT_NONE;
    if (objection) {
        sim_fault(s, objection, &s->core[b->origin.core], b->origin.pc, now, m->tcdm->base + address, size, id < 2);
        return 0;
    }
    u8 *word = m->tcdm->data + address;
    if (id < 2) memcpy(word, b->data + b->done, size), check_carry(m->tcdm, address, size, b->known + b->done);
    else memcpy(b->data + b->done, word, size), check_take(m->tcdm, address, size, b->known + b->done);
    m->tcdm->dma_bytes += size;
    m->port_free[id] = now + 1 + bank_wait(m->tcdm, address, now);
    b->done += size;
    return size;
}

static void use_port(sim *s, mchan *m, u32 id, u64 now) {
    if (m->port_free[id] > now) return;
    burst *b = id < 2 ? &m->in[m->in_first] : &m->out;
    if (!(id < 2 ? m->in_used : m->has_out) || b->ready > now) return;
    if ((id & 1) && b->external - m->tcdm->base < m->tcdm->size) return; /* TCDM to TCDM: one word per cycle [c09 l1_to_l1] */
    u32 size = move_word(s, m, b, id, now);
    if (id < 2) finish_bytes(s, m, &b->origin, size, now);
    if (b->done < b->size) return;
    end_burst(s, &b->origin, now);
    if (id < 2) {
        m->in_first = (m->in_first + 1) % DMA_BURSTS_AHEAD;
        m->in_used--;
        return;
    }
    m->has_out = 0;
    external(s, b, 1, m->in_used || m->has_current[IN] ? DMA_WRITE_OVERHEAD : 0, now);
    finish_bytes(s, m, &b->origin, b->size, now);
}

static void count(const device *d, u64 now, activity *a) {
    (void)now;
    const mchan *m = d->state;
    a->dma_bytes = m->bytes[OUT] + m->bytes[IN];
}

static int is_busy(const mchan *m, u32 direction) {
    return (direction == IN ? m->in_used : m->has_out) || m->has_current[direction] || m->global[direction].used;
}

static int is_active(const mchan *m) {
    if (is_busy(m, IN) || is_busy(m, OUT)) return 1;
    for (u32 i = 0; i < m->ports; i++)
        if (m->port[i].queue.used) return 1;
    return 0;
}

static u64 tick(sim *s, device *d, u64 now) {
    mchan *m = d->state;
    issue_inbound(s, m, now);
    set_up_outbound(m, now);
    for (u32 id = 0; id < TCDM_PORTS; id++) use_port(s, m, id, now);
    if (!move_command(s, m, IN, now)) move_command(s, m, OUT, now);
    m->is_moving = m->in_used || m->has_out;
    d->busy++;
    return is_active(m) ? now + 1 : NEVER;
}

static u32 status(const mchan *m) {
    u32 value = (~m->free_counters & 0xffff) << 16;
    for (u32 i = 0; i < DMA_COUNTERS; i++) value |= (u32)(m->pending[i] != 0) << i;
    return value;
}

static u32 allocate(mchan *m, u32 id) {
    u32 counter = (u32)__builtin_ctz(m->free_counters);
    m->free_counters &= m->free_counters - 1;
    return m->port[id].counter = counter;
}

static void free_counters(sim *s, mchan *m, u32 mask, u64 now) {
    m->free_counters |= mask & 0xffff;
    for (u32 id = 0; id < m->ports && m->free_counters; id++) {
        if (!m->port[id].wants_counter) continue;
        m->port[id].wants_counter = 0;
        sim_wake(s, m->port[id].waiter, now + 1, allocate(m, id));
    }
}

static void port_read(mchan *m, u32 id, access *a) {
    if (a->offset != 0) {
        a->value = status(m);
        return;
    }
    if (m->free_counters) {
        a->value = allocate(m, id);
        return;
    }
    m->port[id].wants_counter = a->blocked = 1;
    m->port[id].waiter = a->core;
}

static void port_write(sim *s, device *d, u32 id, access *a) {
    mchan *m = d->state;
    port *p = &m->port[id];
    p->core = a->core, p->pc = a->pc;
    if (a->offset != 0) {
        free_counters(s, m, a->value, a->now);
        return;
    }
    if (p->queue.used == DMA_PORT_QUEUE) {
        p->blocked = a->blocked = 1;
        p->blocked_value = a->value;
        p->waiter = a->core;
        return;
    }
    accept_word(s, m, id, a->value, a->now);
    if (is_active(m)) sim_schedule(s, d->actor, a->now + 1);
}

static void local_read(sim *s, device *d, access *a) {
    (void)s;
    port_read(d->state, a->core, a);
}
static void local_write(sim *s, device *d, access *a) { port_write(s, d, a->core, a); }

static void reset(sim *s, device *d) {
    mchan *m = d->state;
    memset(m, 0, sizeof *m);
    m->tcdm = &s->memory[d->description->parameters[0]];
    m->ports = d->description->parameters[1];
    m->outer_port = m->ports - 1;
    m->free_counters = 0xffff;
}

extern const device_type MCHAN;
static void outer_read(sim *s, device *d, access *a) {
    (void)d;
    mchan *m = sim_device(s, &MCHAN)->state;
    port_read(m, m->outer_port, a);
}
static void outer_write(sim *s, device *d, access *a) {
    (void)d;
    device *inner = sim_device(s, &MCHAN);
    port_write(s, inner, ((mchan *)inner->state)->outer_port, a);
}
static void outer_reset(sim *s, device *d) { (void)s, (void)d; }
static u64 outer_tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

static int overlaps(u32 a, u32 a_size, u32 b, u32 b_size) { return a - b < b_size || b - a < a_size; }

/* Is an access in one of the rows that follow the present one? */
static int hits_rows(const command *k, u32 address, u32 size) {
    if (k->left <= k->row_left) return 0;
    u32 rows = (k->left - k->row_left + k->row - 1) / k->row, base = k->row_start + k->stride, at = address + size - 1 - base;
    if (k->stride < k->row) return overlaps(address, size, base, (rows - 1) * k->stride + k->row);
    u32 nearest = at / k->stride < rows ? at / k->stride : rows - 1;
    return overlaps(address, size, base + nearest * k->stride, k->row);
}

/* The bytes that a command has still to move: what it writes must not be touched, what it reads must not be written. */
static int conflicts(const mchan *m, const command *k, u32 address, u32 size, u32 is_write) {
    u32 tcdm = m->tcdm->base + (k->tcdm & 0xfffff);
    if ((k->direction == IN || is_write) && overlaps(address, size, tcdm, k->left)) return 1;
    if (k->direction == IN && !is_write) return 0;
    return overlaps(address, size, k->external, k->row_left) || (k->is_2d && hits_rows(k, address, size));
}

static int queue_conflicts(const mchan *m, const command_queue *q, u32 address, u32 size, u32 is_write) {
    for (u32 i = 0; i < q->used; i++)
        if (conflicts(m, &q->entry[i], address, size, is_write)) return 1;
    return 0;
}

/* What comes in has been read; what goes out is written at the end of its burst. */
static int burst_conflicts(const mchan *m, const burst *b, u32 direction, u32 address, u32 size, u32 is_write) {
    u32 tcdm = m->tcdm->base + ((b->tcdm + b->done) & 0xfffff);
    if ((direction == IN || is_write) && overlaps(address, size, tcdm, b->size - b->done)) return 1;
    return direction == OUT && overlaps(address, size, b->external, b->size);
}

static int touches_transfer(const sim *s, const device *d, const memory *touched, u32 address, u32 size, u32 is_write) {
    (void)s, (void)touched;
    const mchan *m = d->state;
    for (u32 i = 0; i < m->ports; i++)
        if (queue_conflicts(m, &m->port[i].queue, address, size, is_write)) return 1;
    for (u32 direction = 0; direction < 2; direction++) {
        if (queue_conflicts(m, &m->global[direction], address, size, is_write)) return 1;
        if (m->has_current[direction] && conflicts(m, &m->current[direction], address, size, is_write)) return 1;
    }
    for (u32 i = 0; i < m->in_used; i++)
        if (burst_conflicts(m, &m->in[(m->in_first + i) % DMA_BURSTS_AHEAD], IN, address, size, is_write)) return 1;
    return m->has_out && burst_conflicts(m, &m->out, OUT, address, size, is_write);
}

const device_type MCHAN = {.name = "MCHAN DMA", .state_bytes = sizeof(mchan), .reset = reset, .read = local_read, .write = local_write, .tick = tick,
    .conflicts = touches_transfer,
    .conflict = FAULT_TRANSFER,
    .count = count};
const device_type MCHAN_OUTER = {.name = "MCHAN DMA, outer port", .state_bytes = 0, .reset = outer_reset, .read = outer_read, .write = outer_write, .tick = outer_tick};
