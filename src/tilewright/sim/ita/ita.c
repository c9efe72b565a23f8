/* ITA as an HWPE: registers, contexts, the queue of jobs, completion. */
#include "ita/ita.h"
#include "kinds/misuse.h"

enum { TRIGGER = 0x00, ACQUIRE = 0x04, FINISHED = 0x08, STATUS = 0x0c, RUNNING = 0x10, SOFT_CLEAR = 0x14, JOB = 0x20, CONTEXTS = 4 };
enum { COMMIT_ONLY = 1, KEEP_REGISTERS = 1, TILE_ALIGNMENT = 128, BIAS_ALIGNMENT = 64, EVENT_CORES = 16 };
enum { VIEW_BUSY = 0, VIEW_EVENT = 8 };
enum { EVENT_JOB = 1, EVENT_IDLE = 2 };  /* of the two bits that each core has */

typedef struct {
    u32 reg[CONTEXTS][ITA_REGISTERS], id[CONTEXTS];
    u32 configured, first, committed, released;  /* contexts: being written, the oldest committed; how many are, how many may start */
    u32 next_id, finished, is_running, events;
    u64 started, ready;
    ita_sequencer planned;                       /* where the next job to be committed will be in its layer */
    u32 is_fetched, fetched;                     /* whose first weights the last committed job fetches ahead */
    ita_engine engine;
} ita;

static void start(ita *n, u64 now) {
    ita_engine *e = &n->engine;
    ita_unpack(&e->job, n->reg[n->first]);
    if (e->sequencer.step == STEP_IDLE) ita_layer_begins(&e->sequencer, &e->job);
    ita_begin(e, now);
    n->is_running = 1;
    n->started = now;
}

static void raise(sim *s, device *d, u64 now) {
    ita *n = d->state;
    const u32 bits = n->committed ? EVENT_JOB : EVENT_JOB | EVENT_IDLE;
    for (u32 core = 0; core < s->cores && core < EVENT_CORES; core++) n->events |= bits << 2 * core;
    event_raise(s, ~0u, d->description->parameters[1], now);
}

static void finish(sim *s, device *d, u64 now) {
    ita *n = d->state;
    n->engine.macs += ITA_SIDE * ITA_TILE;
    ita_job_ends(&n->engine.sequencer);
    n->is_running = 0;
    n->first = (n->first + 1) % CONTEXTS;
    n->committed--, n->released--, n->finished++;
    d->busy += now - n->started;
    observe_span(s, d->actor, SPAN_JOB, n->started, now);
    probe_job(s, d, n->started, now);
    raise(s, d, now);
}

/* A job that waits starts in the cycle in which the one before ends. */
static u64 tick(sim *s, device *d, u64 now) {
    ita *n = d->state;
    for (;;) {
        if (!n->is_running) start(n, now);
        const u64 next = ita_go_on(&n->engine, now);
        if (next > now) return next;
        finish(s, d, now);
        if (!n->released) return NEVER;
    }
}

/* ---- what is wrong with a job ---- */

static int is_unaligned(const ita_job *j) {
    const u32 tiles = j->input | j->weights | (j->fetch_next ? j->next_weights : 0) | (j->has_output ? j->output : 0);
    return tiles % TILE_ALIGNMENT || (j->has_bias && j->bias % BIAS_ALIGNMENT);
}

static int is_of_another_layer(const ita_job *j, const ita_sequencer *q) {
    ita_sequencer own;
    ita_layer_begins(&own, j);
    return own.layer != q->layer || own.s != q->s || own.e != q->e || own.p != q->p || own.f != q->f;
}

static int has_wrong_bias(const ita_job *j, const ita_sequencer *q) {
    const int is_product = q->step == STEP_QK || q->step == STEP_AV;
    return j->has_bias && (is_product || (!!j->bias_per_row != (q->step == STEP_V) && q->layer == LAYER_ATTENTION));
}

static void check_job(sim *s, const ita *n, const ita_job *j, const access *a) {
    const ita_sequencer *q = &n->planned;
    check_misuse(s, MISUSE_ITA_UNALIGNED, is_unaligned(j), a);
    check_misuse(s, MISUSE_ITA_LAYER, is_of_another_layer(j, q), a);
    check_misuse(s, MISUSE_ITA_OUTPUT, (int)j->has_output != ita_is_last_inner(q), a);
    check_misuse(s, MISUSE_ITA_BIAS, has_wrong_bias(j, q), a);
    check_misuse(s, MISUSE_ITA_WEIGHTS, !j->preload && (ita_is_first_of_layer(q) || !n->is_fetched || n->fetched != j->weights), a);
    check_misuse(s, MISUSE_ITA_GELU, !ita_has_room_for(&j->activation), a);
}

/* Bytes that are not there stop the run, asked for or not. */
static int reaches(sim *s, const ita *n, const access *a, u32 offset, u32 bytes, u32 is_write) {
    const memory *m = n->engine.tcdm;
    if (bytes <= m->size && offset <= m->size - bytes) return 1;
    sim_fault(s, FAULT_DEVICE, &s->core[a->core], a->pc, a->now, m->base + offset, bytes, is_write);
    return 0;
}

static int reaches_all(sim *s, const ita *n, const ita_job *j, const access *a) {
    return reaches(s, n, a, j->input, ITA_TILE, 0) && reaches(s, n, a, j->weights, ITA_TILE, 0)
        && (!j->fetch_next || reaches(s, n, a, j->next_weights, ITA_GROUP, 0))
        && (!j->has_bias || reaches(s, n, a, j->bias, ITA_BIAS_BYTES, 0)) && (!j->has_output || reaches(s, n, a, j->output, ITA_TILE, 1));
}

/* ---- registers ---- */

static void plan(sim *s, ita *n, const ita_job *j, const access *a) {
    if (n->planned.step == STEP_IDLE) ita_layer_begins(&n->planned, j);
    check_job(s, n, j, a);
    ita_job_ends(&n->planned);
    n->is_fetched = j->fetch_next;
    n->fetched = j->next_weights;
}

static void commit(sim *s, ita *n, const access *a) {
    ita_job j;
    check_misuse(s, MISUSE_ITA_FULL, n->committed == CONTEXTS, a);
    if (n->committed == CONTEXTS) return;
    ita_unpack(&j, n->reg[n->configured]);
    if (!reaches_all(s, n, &j, a)) return;
    plan(s, n, &j, a);
    n->id[n->configured] = n->next_id++ & 0xff;
    n->configured = (n->configured + 1) % CONTEXTS;
    n->committed++;
}

static void trigger(sim *s, device *d, const access *a) {
    ita *n = d->state;
    commit(s, n, a);
    if (a->value == COMMIT_ONLY || s->fault.reason) return;
    n->released = n->committed;
    if (!n->is_running && n->released) sim_schedule(s, d->actor, later(a->now + ITA_START, n->ready));
}

static void reset(sim *s, device *d) {
    ita *n = d->state;
    const u64 macs = n->engine.macs;
    memset(n, 0, sizeof *n);
    n->engine.macs = macs;
    n->engine.tcdm = &s->memory[d->description->parameters[0]];
    n->engine.softmax = ita_softmax_with(d->description->parameters[2]);
    n->engine.bank_bytes = n->engine.tcdm->description->bank_bytes;
    n->engine.sequencer.step = n->planned.step = STEP_IDLE;
}

static void soft_clear(sim *s, device *d, const access *a) {
    ita *n = d->state;
    u32 kept[CONTEXTS][ITA_REGISTERS];
    memcpy(kept, n->reg, sizeof kept);
    if (n->is_running) d->busy += a->now - n->started;
    reset(s, d);
    if (a->value == KEEP_REGISTERS) memcpy(n->reg, kept, sizeof kept);
    n->ready = a->now + ITA_CLEAR;
    d->next = NEVER;
}

static u32 acquire(ita *n) {
    n->finished = 0;
    return n->committed == CONTEXTS ? ~0u : n->next_id & 0xff;
}

static void read(sim *s, device *d, access *a) {
    ita *n = d->state;
    const u32 index = (a->offset - JOB) / 4;
    check_misuse(s, MISUSE_WRITE_ONLY, a->offset == TRIGGER || a->offset == SOFT_CLEAR, a);
    a->value = 0;
    if (a->offset == ACQUIRE) a->value = acquire(n);
    else if (a->offset == FINISHED) a->value = n->finished;
    else if (a->offset == STATUS) a->value = n->committed;
    else if (a->offset == RUNNING) a->value = n->id[n->first];
    else if (a->offset >= JOB && index < ITA_REGISTERS) a->value = n->reg[n->configured][index];
}

static void write(sim *s, device *d, access *a) {
    ita *n = d->state;
    const u32 index = (a->offset - JOB) / 4;
    const int is_register = a->offset >= JOB && index < ITA_REGISTERS;
    check_misuse(s, MISUSE_READ_ONLY, a->offset >= ACQUIRE && a->offset <= RUNNING, a);
    check_misuse(s, MISUSE_ITA_CLEARING, a->now < n->ready, a);
    check_misuse(s, MISUSE_ITA_CONTEXT, is_register && n->committed == CONTEXTS, a);
    if (a->offset == TRIGGER) trigger(s, d, a);
    else if (a->offset == SOFT_CLEAR) soft_clear(s, d, a);
    else if (is_register) n->reg[n->configured][index] = a->value;
}

/* ---- what others ask ---- */

extern const device_type ITA;
static ita *unit(const sim *s) {
    const device *d = sim_device(s, &ITA);
    return d ? d->state : NULL;
}
u32 ita_busy(const sim *s) { return unit(s) ? unit(s)->committed : 0; }
u32 ita_events(const sim *s) { return unit(s) ? unit(s)->events : 0; }
void ita_clear_events(sim *s, u32 bits) {
    if (unit(s)) unit(s)->events &= ~bits;
}
static int is_at_work(const device *d) { return ((const ita *)d->state)->committed != 0; }

static int is_touched(u32 from, u32 bytes, u32 address, u32 size) { return address < from + bytes && address + size > from; }

/* Does a core touch what a job that waits or runs writes, or write what it reads? */
static int conflicts(const sim *s, const device *d, const memory *m, u32 address, u32 size, u32 is_write) {
    (void)s;
    const ita *n = d->state;
    if (m != n->engine.tcdm) return 0;
    for (u32 i = 0; i < n->committed; i++) {
        ita_job j;
        ita_unpack(&j, n->reg[(n->first + i) % CONTEXTS]);
        const u32 at = address - m->base;
        if (j.has_output && is_touched(j.output, ITA_TILE, at, size)) return 1;
        if (!is_write) continue;
        if (is_touched(j.input, ITA_TILE, at, size) || is_touched(j.weights, ITA_TILE, at, size)) return 1;
        if (j.has_bias && is_touched(j.bias, ITA_BIAS_BYTES, at, size)) return 1;
        if (j.fetch_next && is_touched(j.next_weights, ITA_GROUP, at, size)) return 1;
    }
    return 0;
}

static void count(const device *d, u64 now, activity *a) {
    const ita *n = d->state;
    a->npu_cycles = d->busy + (n->is_running && now > n->started ? now - n->started : 0);
    a->npu_macs = n->engine.macs;
    a->npu_mac_bits = 8 * n->engine.macs;
}

const device_type ITA = {.name = "ITA", .state_bytes = sizeof(ita), .reset = reset, .read = read, .write = write, .tick = tick,
    .conflicts = conflicts,
    .conflict = FAULT_MISUSE,
    .is_at_work = is_at_work,
    .count = count};

/* Busy flag and events, as other parts of a cluster show them. */
static void view_read(sim *s, device *d, access *a) {
    (void)d;
    a->value = a->offset == VIEW_BUSY ? ita_busy(s) : a->offset == VIEW_EVENT ? ita_events(s) : 0;
}
static void view_write(sim *s, device *d, access *a) {
    (void)d;
    check_misuse(s, MISUSE_READ_ONLY, a->offset == VIEW_BUSY, a);
    if (a->offset == VIEW_EVENT) ita_clear_events(s, a->value);
}
static void view_reset(sim *s, device *d) { (void)s, (void)d; }
static u64 no_tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

const device_type ITA_VIEW = {.name = "ITA's busy flag and events", .state_bytes = 0, .reset = view_reset, .read = view_read, .write = view_write, .tick = no_tick};
