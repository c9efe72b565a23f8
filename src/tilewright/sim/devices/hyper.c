/* uDMA with its HyperRAM channels: transfers between L2 and the external memory, in the background, one after the other. */
#include "engine/sim.h"
#include "kinds/misuse.h"

enum { /* [c29]: the calibration program that measures them */
    HYPER_READ_SETUP = 19, HYPER_WRITE_SETUP = 12,      /* [c29] */
    HYPER_READ_PER_10 = 10, HYPER_WRITE_PER_10 = 18,    /* [c29] cycles per 10 bytes */
};

enum { HYPER = 0x280, CHANNEL_BYTES = 0x80, CHANNELS = 2, COMMON = 0x100, REGISTERS = 1024, QUEUE = 8, SELECT = 0x20, NO_PAGES = 4, START = 0x10, SET_UP_READ = 4, PARTNERS = 3 };
enum { RX_ADDRESS = 0x00, RX_SIZE = 0x04, RX_CONFIG = 0x08, TX_ADDRESS = 0x0c, TX_SIZE = 0x10, TX_CONFIG = 0x14, SET_UP = 0x18, EXTERNAL = 0x1c, STATUS = 0x24,
       ROWS_ON = 0x28, ROW_LENGTH = 0x2c, ROW_STRIDE = 0x30, LOCAL_ROWS_ON = 0x34, LOCAL_ROW_LENGTH = 0x38, LOCAL_ROW_STRIDE = 0x3c };

typedef struct {
    u32 local, external, size, is_read, row, stride, local_row, local_stride, channel, core, pc;
} transfer;

typedef struct {
    u32 reg[REGISTERS];
    u32 is_transmit[CHANNELS];
    transfer queue[CHANNELS * QUEUE];
    u32 used, waiting[CHANNELS];
    u64 done_at;
} hyper;

static u32 *channel_register(hyper *h, u32 channel, u32 offset) { return &h->reg[(HYPER + channel * CHANNEL_BYTES + offset) / 4]; }

static u64 duration(const transfer *t) {
    if (t->is_read) return HYPER_READ_SETUP + (u64)t->size * HYPER_READ_PER_10 / 10;
    return HYPER_WRITE_SETUP + (u64)t->size * HYPER_WRITE_PER_10 / 10;
}

static u32 strided(u32 base, u32 at, u32 row, u32 stride) { return row ? base + at / row * stride + at % row : base + at; }

static void move_byte(memory *to, u32 to_offset, const memory *from, u32 from_offset) {
    u8 known = 1;
    to->data[to_offset] = from->data[from_offset];
    check_take(from, from_offset, 1, &known);
    check_carry(to, to_offset, 1, &known);
}

static void copy(sim *s, device *d, const transfer *t, u64 now) {
    memory *external = &s->memory[d->description->parameters[0]];
    for (u32 at = 0; at < t->size; at++) {
        u32 local = strided(t->local, at, t->local_row, t->local_stride), outside = strided(t->external, at, t->row, t->stride), offset = 0;
        memory *m = bus_memory(s, 0, local, 1, &offset);
        u32 is_inside = outside < external->size;
        u32 objection = !m || !is_inside ? FAULT_DEVICE : t->is_read ? check_device_write(s, m, offset, 1) : FAULT_NONE;
        if (objection) {
            sim_fault(s, objection, &s->core[t->core], t->pc, now, is_inside ? local : outside, 1, is_inside == t->is_read);
            return;
        }
        m->dma_bytes++;
        if (t->is_read) move_byte(m, offset, external, outside);
        else move_byte(external, outside, m, offset);
    }
    *(t->is_read ? &external->bytes_read : &external->bytes_written) += t->size;
    external->dma_bytes += t->size;
}

static int touches(const transfer *t, u32 address, u32 size) {
    u32 row = t->local_row && t->local_row < t->size ? t->local_row : t->size;
    for (u32 at = 0; at < t->size; at += row) {
        u32 start = strided(t->local, at, t->local_row, t->local_stride), bytes = t->size - at < row ? t->size - at : row;
        if (address - start < bytes || start - address < size) return 1;
    }
    return 0;
}

/* What a waiting transfer writes must not be touched, what it reads must not be written. */
static int conflicts(const sim *s, const device *d, const memory *m, u32 address, u32 size, u32 is_write) {
    (void)s, (void)m;
    const hyper *h = d->state;
    for (u32 i = 0; i < h->used; i++)
        if ((h->queue[i].is_read || is_write) && touches(&h->queue[i], address, size)) return 1;
    return 0;
}

/* Parameters: the external memory, then those that it exchanges bytes with. */
static int is_partner(sim *s, const device *d, u32 address) {
    u32 offset;
    const memory *m = bus_memory(s, 0, address, 1, &offset);
    for (u32 i = 1; i <= PARTNERS; i++)
        if (m == &s->memory[d->description->parameters[i]]) return 1;
    return 0;
}

static void check_transfer(sim *s, device *d, const transfer *t, const access *a) {
    hyper *h = d->state;
    u32 set_up = *channel_register(h, t->channel, SET_UP), starts_read = (a->offset - HYPER) % CHANNEL_BYTES == RX_CONFIG;
    check_misuse(s, MISUSE_STORE_CLOCK, !h->reg[0], a);
    check_misuse(s, MISUSE_STORE_SET_UP, h->reg[(HYPER + COMMON) / 4] != NO_PAGES || h->reg[(HYPER + COMMON + SELECT) / 4], a);
    check_misuse(s, MISUSE_STORE_QUEUE, h->waiting[t->channel] == QUEUE, a);
    check_misuse(s, MISUSE_STORE_SIZE, !t->size, a);
    check_misuse(s, MISUSE_STORE_DIRECTION, t->is_read != starts_read || set_up != (t->is_read ? SET_UP_READ : 0), a);
    check_misuse(s, MISUSE_STORE_PARTNER, !is_partner(s, d, t->local), a);
}

static void enqueue(sim *s, device *d, u32 channel, const access *a) {
    hyper *h = d->state;
    u32 is_read = !h->is_transmit[channel];
    if (h->used == CHANNELS * QUEUE) return;
    transfer t = {.is_read = is_read, .channel = channel, .core = a->core, .pc = a->pc, .external = *channel_register(h, channel, EXTERNAL)};
    t.local = *channel_register(h, channel, is_read ? RX_ADDRESS : TX_ADDRESS);
    t.size = *channel_register(h, channel, is_read ? RX_SIZE : TX_SIZE);
    if (*channel_register(h, channel, ROWS_ON)) t.row = *channel_register(h, channel, ROW_LENGTH), t.stride = *channel_register(h, channel, ROW_STRIDE);
    if (*channel_register(h, channel, LOCAL_ROWS_ON))
        t.local_row = *channel_register(h, channel, LOCAL_ROW_LENGTH), t.local_stride = *channel_register(h, channel, LOCAL_ROW_STRIDE);
    check_transfer(s, d, &t, a);
    h->queue[h->used++] = t;
    h->waiting[channel]++;
    if (h->used == 1) {
        h->done_at = a->now + duration(&t);
        sim_schedule(s, d->actor, h->done_at);
    }
}

static u64 tick(sim *s, device *d, u64 now) {
    hyper *h = d->state;
    if (!h->used || now < h->done_at) return h->used ? h->done_at : NEVER;
    transfer t = h->queue[0];
    copy(s, d, &t, now);
    d->busy += duration(&t);
    observe_span(s, d->actor, t.is_read ? SPAN_DMA_IN : SPAN_DMA_OUT, now - duration(&t), now);
    h->waiting[t.channel]--;
    memmove(h->queue, h->queue + 1, --h->used * sizeof t);
    if (!h->used) return NEVER;
    return h->done_at = now + duration(&h->queue[0]);
}

static void write(sim *s, device *d, access *a) {
    hyper *h = d->state;
    u32 channel = (a->offset - HYPER) / CHANNEL_BYTES, offset = (a->offset - HYPER) % CHANNEL_BYTES;
    h->reg[a->offset / 4 % REGISTERS] = a->value;
    if (a->offset < HYPER || channel >= CHANNELS) return;
    if (offset == RX_ADDRESS || offset == TX_ADDRESS) h->is_transmit[channel] = offset == TX_ADDRESS;
    if ((offset == RX_CONFIG || offset == TX_CONFIG) && (a->value & START)) enqueue(s, d, channel, a);
}

static void read(sim *s, device *d, access *a) {
    (void)s;
    hyper *h = d->state;
    u32 channel = (a->offset - HYPER) / CHANNEL_BYTES, offset = (a->offset - HYPER) % CHANNEL_BYTES;
    a->value = h->reg[a->offset / 4 % REGISTERS];
    if (a->offset >= HYPER && channel < CHANNELS && offset == STATUS) a->value = h->waiting[channel] ? 1 | (h->waiting[channel] - 1) << 1 : 0;
}

static void reset(sim *s, device *d) { (void)s, memset(d->state, 0, sizeof(hyper)); }

const device_type HYPER_UDMA = {.name = "uDMA hyper", .state_bytes = sizeof(hyper), .reset = reset, .read = read, .write = write, .tick = tick,
    .conflicts = conflicts,
    .conflict = FAULT_TRANSFER};
