/* N-EUREKA: control registers and the state machine. Each step of a phase is one access and the cycles it takes.
 * Loop order: output channel tile, rows, columns, input channel tile. */
#include "neureka/neureka.h"
#include "kinds/misuse.h"

enum { COMMIT = 0x00, ACQUIRE = 0x04, STATUS = 0x0c, RUNNING = 0x10, SOFT_CLEAR = 0x14, JOB = 0x20, LINE_DONE = 12 };
enum { PHASE_TILE, PHASE_STREAM_IN, PHASE_LOAD_SETUP, PHASE_LOAD, PHASE_CONTROL, PHASE_VECTOR, PHASE_SHIFT, PHASE_SCALE, PHASE_BIAS,
       PHASE_OUTPUT, PHASE_DONE };

typedef struct {
    u32 reg[2][JOB_REGISTERS];
    i32 id[2];              /* -1: the context is free */
    u32 configured, in_use; /* contexts: the one being written, the one that runs (or runs next) */
    u32 acquired, next_id, running_id, pending, is_running;
    u64 started;
    neureka_engine engine;
} neureka;

/* A read of n bytes: all words in one cycle, the slowest bank decides. */
static u32 read_time(neureka_engine *e, u32 address, u32 n) {
    u32 slowest = 0, words = (n + 4) / 4, base = address & ~3u;
    for (u32 i = 0; i < words; i++) {
        u32 wait = bank_wait(e->tcdm, neureka_at(e, base + 4 * i), e->now);
        if (wait > slowest) slowest = wait;
    }
    if (n % 4) bank_wait(e->tcdm, neureka_at(e, base + 4 * words), e->now);
    e->tcdm->npu_bytes += n;
    return 1 + slowest;
}

/* A write of n bytes: head and tail bytes one by one; only whole words are waited for. */
static u32 write_time(neureka_engine *e, u32 address, u32 n) {
    for (u32 i = 0; i < n; i++) check_written(e->tcdm, neureka_at(e, address + i), 1);
    u32 slowest = 0, end = address + n, first = (address + 3) & ~3u, last = end & ~3u;
    u32 head = n < 4 ? n : first - address, tail = n < 4 ? 0 : end - last;
    for (u32 i = 0; i < head; i++) bank_wait(e->tcdm, neureka_at(e, address + i), e->now);
    for (u32 at = first; at < last; at += 4) {
        u32 wait = bank_wait(e->tcdm, neureka_at(e, at), e->now);
        if (wait > slowest) slowest = wait;
    }
    for (u32 i = 0; i < tail; i++) bank_wait(e->tcdm, neureka_at(e, last + i), e->now);
    e->tcdm->npu_bytes += n;
    return 1 + slowest;
}

static int is_last_step(const neureka_engine *e) {
    const neureka_job *j = &e->job;
    return e->wo == j->n_wo - 1 && e->ho == j->n_ho - 1 && (j->mode == MODE_DEPTHWISE || e->ki == j->n_ki - 1);
}

static void enter(neureka_engine *e, u32 phase) {
    e->phase = phase;
    e->step = 0;
}

static void set_field(neureka_engine *e) {
    const neureka_job *j = &e->job;
    u32 ki = j->mode == MODE_DEPTHWISE ? e->ko : e->ki, edge = j->mode == MODE_1X1 ? SIDE : FIELD;
    e->kin = ki == j->n_ki - 1 && j->rem_ki ? j->rem_ki : neureka_in_tile(j);
    e->h_in = e->ho == j->n_ho - 1 && j->rem_hi ? j->rem_hi : edge;
    e->w_in = e->wo == j->n_wo - 1 && j->rem_wi ? j->rem_wi : edge;
    if (e->h_in > edge) e->h_in = edge;
    if (e->w_in > edge) e->w_in = edge;
}

static u32 phase_tile(neureka_engine *e) {
    const neureka_job *j = &e->job;
    e->h = e->ho == j->n_ho - 1 && j->rem_ho ? j->rem_ho : SIDE;
    e->w = e->wo == j->n_wo - 1 && j->rem_wo ? j->rem_wo : SIDE;
    e->k = e->ko == j->n_ko - 1 && j->rem_ko ? j->rem_ko : neureka_out_tile(j);
    e->ki = 0;
    memset(e->acc, 0, sizeof e->acc);
    enter(e, j->stream_in ? PHASE_STREAM_IN : PHASE_LOAD_SETUP);
    return 0;
}

static u32 out_address(const neureka_engine *e, u32 y, u32 x, u32 channel) {
    const neureka_job *j = &e->job;
    u32 channels = e->ko * neureka_out_tile(j) + channel;
    return j->output + (e->ho * SIDE + y) * j->out_row + (e->wo * SIDE + x) * j->out_pixel + channels * (j->out_bits / 8);
}

static u32 group_size(const neureka_engine *e, u32 first) { return e->k - first < 8 ? e->k - first : 8; }

static u32 phase_stream_in(neureka_engine *e) {
    u32 groups = (e->k + 7) / 8, pixel = e->step / groups, first = e->step % groups * 8, y = pixel / SIDE, x = pixel % SIDE, time = 1;
    if (y < e->h && x < e->w) {
        u32 address = out_address(e, y, x, first), n = group_size(e, first);
        time = read_time(e, address, 4 * n);
        for (u32 i = 0; i < n; i++) memcpy(&e->acc[pixel][first + i], e->tcdm->data + neureka_at(e, address + 4 * i), 4);
    }
    if (++e->step < PIXELS * groups) return time;
    enter(e, PHASE_LOAD_SETUP);
    return time + NPU_STREAM_IN_TAIL;
}

static u32 phase_load_setup(neureka_engine *e) {
    set_field(e);
    e->load_time = NPU_PREFETCH_LOAD_BIAS;
    enter(e, PHASE_LOAD);
    return NPU_LOAD_OVERHEAD;
}

static u32 phase_load(neureka_engine *e) {
    const neureka_job *j = &e->job;
    u32 y = e->step / e->w_in, x = e->step % e->w_in, ki = j->mode == MODE_DEPTHWISE ? e->ko : e->ki;
    u32 address = j->input + (e->ho * SIDE + y) * j->in_row + (e->wo * SIDE + x) * j->in_pixel + ki * neureka_in_tile(j);
    u32 time = read_time(e, address, e->kin);
    for (u32 k = 0; k < e->kin; k++) e->field[y][x][k] = e->tcdm->data[neureka_at(e, address + k)];
    if (++e->step == e->h_in * e->w_in) {
        if (j->mode == MODE_1X1) time += PIXELS - e->h_in * e->w_in + NPU_LOAD_OVERHEAD_1X1;
        neureka_pad(e);
        enter(e, PHASE_CONTROL);
    }
    e->load_time += time;
    return time;
}

/* Products for the outputs of the current tile; those with padding count, those of switched off taps do not. */
static void count_products(neureka_engine *e) {
    const neureka_job *j = &e->job;
    u32 taps = j->mode == MODE_1X1 ? 1 : 9 - (u32)__builtin_popcount(j->mask & 0x1ff);
    u64 products = (u64)e->h * e->w * taps * e->kin * (j->mode == MODE_DEPTHWISE ? 1 : e->k);
    e->macs += products;
    e->mac_bits += products * j->bits;
}

static u32 phase_control(neureka_engine *e) {
    const neureka_job *j = &e->job;
    u32 time = j->mode == MODE_DEPTHWISE ? NPU_CONTROL_DEPTHWISE : j->mode == MODE_3X3 ? NPU_CONTROL_3X3 : j->prefetch ? NPU_CONTROL_1X1_PREFETCH : NPU_CONTROL_1X1;
    u32 excess = j->prefetch && e->vector_time > e->load_time ? e->vector_time - e->load_time : 0;
    neureka_accumulate(e);
    count_products(e);
    e->vector_time = j->prefetch ? time : 0;
    enter(e, PHASE_VECTOR);
    return time + excess;
}

static void after_vector(neureka_engine *e) {
    const neureka_job *j = &e->job;
    if (j->mode != MODE_DEPTHWISE && e->ki + 1 < j->n_ki) {
        e->ki++;
        enter(e, PHASE_LOAD_SETUP);
    } else {
        enter(e, !j->quantise ? PHASE_OUTPUT : j->channel_shift ? PHASE_SHIFT : PHASE_SCALE);
    }
}

/* Where the n-th word of the current tile's weights lies. */
static u32 weight_offset(const neureka_engine *e, u32 n) {
    const neureka_job *j = &e->job;
    u32 words = j->mode == MODE_1X1 ? 1 : j->bits, tile = j->mode == MODE_DEPTHWISE ? e->ko : e->ki;
    return (e->ko * LANES + n / words) * j->weight_out + (tile * words + n % words) * j->weight_bit;
}

/* Weights: one 32-byte word per cycle, from the weight memory in one go, from TCDM word by word. */
static u32 phase_vector(neureka_engine *e) {
    const neureka_job *j = &e->job;
    u32 words = j->mode == MODE_1X1 ? e->k : e->k * j->bits, tail = j->mode == MODE_3X3 ? NPU_VECTOR_TAIL_3X3 : 0, time = words, done = 1;
    if (!j->in_wmem) {
        time = read_time(e, j->weights + weight_offset(e, e->step), WORD_BYTES);
        done = ++e->step == (j->mode == MODE_DEPTHWISE ? j->bits : words); /* depthwise: the first channel's words only [c21] */
    } else e->wmem->npu_bytes += (u64)words * WORD_BYTES;
    if (done) time += tail;
    if (j->prefetch && !is_last_step(e)) {
        if (j->mode != MODE_DEPTHWISE) e->vector_time += time;
        time = 0;
    }
    if (done) after_vector(e);
    return time;
}

static u32 phase_shift(neureka_engine *e) {
    enter(e, PHASE_SCALE);
    return read_time(e, e->job.shifts + e->ko * neureka_out_tile(&e->job), WORD_BYTES);
}

static u32 phase_scale(neureka_engine *e) {
    const neureka_job *j = &e->job;
    u32 per_load = 32 / j->scale_bits, channels = e->ko == j->n_ko - 1 && j->rem_ko && j->rem_ko != LANES ? e->k : LANES;
    u32 loads = (channels + per_load - 1) / per_load;
    u32 time = read_time(e, j->scale + e->ko * neureka_out_tile(j) * j->scale_bits / 8 + 4 * e->step, 4);
    if (++e->step < loads) return time;
    enter(e, PHASE_BIAS);
    return time + NPU_SCALE_TAIL;
}

static u32 phase_bias(neureka_engine *e) {
    const neureka_job *j = &e->job;
    u32 time = j->has_bias ? read_time(e, j->bias + 4 * (e->ko * neureka_out_tile(j) + 8 * e->step), WORD_BYTES) : 0;
    if (j->has_bias && ++e->step < NPU_BIAS_LOADS) return time;
    neureka_quantise(e);
    enter(e, PHASE_OUTPUT);
    return time + NPU_BIAS_TAIL;
}

static u32 store(neureka_engine *e, u32 y, u32 x, u32 first) {
    u32 address = out_address(e, y, x, first);
    const i32 *acc = e->acc[y * SIDE + x];
    if (e->job.out_bits == 8) {
        for (u32 o = 0; o < e->k; o++) e->tcdm->data[neureka_at(e, address + o)] = (u8)acc[o];
        return write_time(e, address, e->k);
    }
    u32 n = group_size(e, first);
    for (u32 i = 0; i < n; i++) memcpy(e->tcdm->data + neureka_at(e, address + 4 * i), &acc[first + i], 4);
    return write_time(e, address, 4 * n);
}

static void next_tile(neureka_engine *e) {
    const neureka_job *j = &e->job;
    enter(e, PHASE_TILE);
    if (++e->wo < j->n_wo) return;
    e->wo = 0;
    if (++e->ho < j->n_ho) return;
    e->ho = 0;
    if (++e->ko < j->n_ko) return;
    enter(e, PHASE_DONE);
}

static u32 phase_output(neureka_engine *e) {
    const neureka_job *j = &e->job;
    u32 groups = j->out_bits == 8 ? 1 : (e->k + 7) / 8, pixel = e->step / groups, y = pixel / SIDE, x = pixel % SIDE;
    u32 time = x < e->w ? store(e, y, x, e->step % groups * 8) : 1;
    if (++e->step < ((e->h - 1) * SIDE + e->w) * groups) return time;
    next_tile(e);
    return time + (j->mode == MODE_1X1 ? NPU_OUTPUT_TAIL_1X1 : 0);
}

static u32 advance(neureka_engine *e) {
    static u32 (*const PHASES[])(neureka_engine *) = {phase_tile, phase_stream_in, phase_load_setup, phase_load, phase_control,
        phase_vector, phase_shift, phase_scale, phase_bias, phase_output};
    u32 time = 0;
    while (!time && e->phase != PHASE_DONE) time = PHASES[e->phase](e);
    return time;
}

static void start(neureka *n, u64 now) {
    neureka_engine *e = &n->engine;
    neureka_unpack(&e->job, n->reg[n->in_use]);
    e->ko = e->ho = e->wo = e->ki = e->load_time = e->vector_time = 0;
    enter(e, PHASE_TILE);
    n->running_id = (u32)n->id[n->in_use];
    n->is_running = 1;
    n->started = now;
}

static u64 finish(sim *s, device *d, neureka *n, u64 now) {
    n->is_running = 0;
    n->id[n->in_use] = -1;
    n->in_use ^= 1;
    n->pending--;
    d->busy += now - n->started;
    observe_span(s, d->actor, SPAN_JOB, n->started, now);
    probe_job(s, d, n->started, now);
    event_raise(s, ~0u, LINE_DONE, now);
    return n->pending ? now + NPU_START : NEVER;
}

static void count(const device *d, u64 now, activity *a) {
    const neureka *n = d->state;
    a->npu_cycles = d->busy + (n->is_running && now > n->started ? now - n->started : 0);
    a->npu_macs = n->engine.macs;
    a->npu_mac_bits = n->engine.mac_bits;
}

static u64 tick(sim *s, device *d, u64 now) {
    neureka *n = d->state;
    if (!n->is_running) start(n, now);
    n->engine.now = now;
    if (n->engine.phase == PHASE_DONE) return finish(s, d, n, now);
    u32 time = advance(&n->engine);
    return time ? now + time : finish(s, d, n, now);
}

static i32 acquire(neureka *n) {
    if (n->acquired) return -2;
    if (n->id[0] >= 0 && n->id[1] >= 0) return -1;
    n->configured = n->id[n->in_use] < 0 ? n->in_use : n->in_use ^ 1;
    n->id[n->configured] = (i32)n->next_id;
    n->next_id = (n->next_id + 1) & 0xff;
    n->acquired = 1;
    return n->id[n->configured];
}

/* What the reference cannot do, or does differently. */
static void check_job(sim *s, const u32 *registers, const access *a) {
    enum { ABSENT = 1 << 3 | 1 << 7 | 1 << 8 | 1 << 11, NO_MODE = 3, HAS_OFFSET = 1 << 15 }; /* wide, linear, strided, rounded */
    neureka_job j;
    neureka_unpack(&j, registers);
    check_misuse(s, MISUSE_MODE, (registers[23] & ABSENT) || j.mode == NO_MODE, a);
    check_misuse(s, MISUSE_OFFSET, j.weight_offset && !(registers[23] & HAS_OFFSET), a);
    check_misuse(s, MISUSE_PREFETCH, j.prefetch && !j.in_wmem, a);
    check_misuse(s, MISUSE_STREAM_IN, j.stream_in && (j.out_bits != 32 || j.mode == MODE_DEPTHWISE), a);
    check_misuse(s, MISUSE_CHANNELS, j.mode == MODE_DEPTHWISE && (j.n_ki != j.n_ko || j.rem_ki != j.rem_ko), a);
}

static void commit(sim *s, device *d, const access *a) {
    neureka *n = d->state;
    check_misuse(s, MISUSE_NOT_ACQUIRED, !n->acquired, a);
    if (!n->acquired) return;
    check_job(s, n->reg[n->configured], a);
    n->acquired = 0;
    if (n->pending++ == 0) sim_schedule(s, d->actor, a->now + NPU_START);
}

static void read(sim *s, device *d, access *a) {
    neureka *n = d->state;
    u32 index = (a->offset - JOB) / 4;
    check_misuse(s, MISUSE_WRITE_ONLY, a->offset == COMMIT, a);
    a->value = 0;
    if (a->offset == ACQUIRE) a->value = (u32)acquire(n);
    else if (a->offset == STATUS) a->value = (u32)(n->id[0] >= 0) | (u32)(n->id[1] >= 0) << 8;
    else if (a->offset == RUNNING) a->value = n->running_id;
    else if (a->offset >= JOB && index < JOB_REGISTERS) a->value = n->reg[n->configured][index];
}

static void reset(sim *s, device *d) {
    neureka *n = d->state;
    u64 macs = n->engine.macs, mac_bits = n->engine.mac_bits;
    memset(n, 0, sizeof *n);
    n->engine.macs = macs, n->engine.mac_bits = mac_bits;
    n->id[0] = n->id[1] = -1;
    n->engine.tcdm = &s->memory[d->description->parameters[0]];
    n->engine.wmem = &s->memory[d->description->parameters[1]];
}

static void write(sim *s, device *d, access *a) {
    neureka *n = d->state;
    u32 index = (a->offset - JOB) / 4;
    check_misuse(s, MISUSE_READ_ONLY, a->offset == ACQUIRE || a->offset == STATUS || a->offset == RUNNING, a);
    check_misuse(s, MISUSE_SOFT_CLEAR, a->offset == SOFT_CLEAR, a);
    check_misuse(s, MISUSE_NOT_ACQUIRED, a->offset >= JOB && !n->acquired, a);
    if (a->offset == COMMIT) commit(s, d, a);
    else if (a->offset == SOFT_CLEAR) reset(s, d), d->next = NEVER;
    else if (a->offset >= JOB && index < JOB_REGISTERS) n->reg[n->configured][index] = a->value;
}

const device_type NEUREKA = {.name = "N-EUREKA", .state_bytes = sizeof(neureka), .reset = reset, .read = read, .write = write, .tick = tick,
    .count = count};
