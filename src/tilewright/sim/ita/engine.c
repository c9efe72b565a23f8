/* ITA at work on one job: its accesses through one port, spread evenly over the job's cycles, and what becomes of them.
 * Of each group of 16 columns it fetches the weights of the next group, then reads two rows of the input and writes two
 * rows of the result at a time. */
#include "ita/ita.h"

enum { FIRST_WEIGHTS, BIAS, WEIGHTS, INPUT, OUTPUT };
enum { WEIGHT_ACCESSES = ITA_GROUP / ITA_PORT, BIAS_ACCESSES = 2, PAIRS = ITA_SIDE / 2 };

static i32 signed_bits(u32 value, u32 bits) { return (i32)(value << (32 - bits)) >> (32 - bits); }
static u32 byte_of(const u32 *registers, u32 index) { return registers[index / 4] >> 8 * (index % 4) & 0xff; }

void ita_unpack(ita_job *j, const u32 *r) {
    const u32 tiles = r[6], flow = r[14];
    *j = (ita_job){
        .input = r[0], .weights = r[1], .next_weights = r[2], .bias = r[3], .output = r[4],
        .s = tiles & 15, .e = tiles >> 4 & 15, .p = tiles >> 8 & 15, .f = tiles >> 12 & 15, .layer = r[13] & 3,
        .preload = flow & 1, .fetch_next = flow >> 1 & 1, .has_bias = !(flow >> 2 & 1), .bias_per_row = flow >> 3 & 1, .has_output = !(flow >> 4 & 1),
        .activation = {.kind = r[13] >> 2 & 3, .b = signed_bits(r[15], 16), .c = signed_bits(r[15] >> 16, 16),
                       .scale = {r[16] & 0xff, r[16] >> 8 & 0xff, signed_bits(r[16] >> 16, 8)}},
    };
    for (u32 i = 0; i < ITA_STEPS; i++)
        j->scale[i] = (ita_scale){byte_of(&r[7], i), byte_of(&r[9], i), signed_bits(byte_of(&r[11], i), 8)};
}

u32 ita_accesses(const ita_job *j) {
    const u32 groups = ITA_GROUPS - 1 + j->preload + j->fetch_next;
    return ITA_TILE * ITA_GROUPS / ITA_PORT + groups * WEIGHT_ACCESSES + j->has_bias * BIAS_ACCESSES + j->has_output * ITA_GROUPS * PAIRS;
}

u64 ita_cycles(u32 accesses) { return later(ITA_COMPUTE, accesses); }

/* All banks of an access grant it in the same cycle: `runs` pieces of `bytes`, a row of the result apart. */
static u32 port_wait(const ita_engine *e, u32 offset, u32 bytes, u32 runs, u64 now) {
    const u32 first = offset / e->bank_bytes, words = bytes / e->bank_bytes, step = ITA_ROW / e->bank_bytes;
    memory *const m = e->tcdm;
    u64 granted = now;
    for (u32 run = 0; run < runs; run++)
        for (u32 i = 0; i < words; i++) granted = later(granted, m->free[(first + run * step + i) % m->banks]);
    for (u32 run = 0; run < runs; run++)
        for (u32 i = 0; i < words; i++) m->free[(first + run * step + i) % m->banks] = granted + 1;
    m->npu_bytes += runs * bytes;
    return (u32)(granted - now);
}

static void enter(ita_engine *e, u32 phase) {
    e->phase = phase;
    e->at = 0;
}

static int fetches_weights(const ita_engine *e) { return e->group + 1 < ITA_GROUPS || e->job.fetch_next; }

static void begin_group(ita_engine *e) { enter(e, fetches_weights(e) ? WEIGHTS : INPUT); }

static void end_group(ita_engine *e) {
    memcpy(e->weights[0], e->weights[1], ITA_GROUP);
    e->group++;
    begin_group(e);
}

void ita_begin(ita_engine *e, u64 now) {
    const ita_job *j = &e->job;
    e->accesses = ita_accesses(j);
    e->cycles = ita_cycles(e->accesses);
    e->began = now + (ita_is_first_of_layer(&e->sequencer) ? ITA_LAYER_START : 0);
    e->waited = e->done = e->group = 0;
    if (e->sequencer.inner == 0) memset(e->sum, 0, sizeof e->sum);
    if (e->sequencer.step == STEP_QK && ita_is_first_of_step(&e->sequencer))
        for (u32 i = 0; i < ITA_SIDE; i++) ita_softmax_begin(&e->row[i]);
    if (j->preload) enter(e, FIRST_WEIGHTS);
    else if (j->has_bias) enter(e, BIAS);
    else begin_group(e);
}

/* 128 bytes: the weights of two columns. */
static u32 fetch_weights(ita_engine *e, u32 from, u32 buffer, u64 now) {
    memcpy((u8 *)e->weights[buffer] + e->at * ITA_PORT, e->tcdm->data + from + e->at * ITA_PORT, ITA_PORT);
    return port_wait(e, from + e->at++ * ITA_PORT, ITA_PORT, 1, now);
}

static u32 first_weights(ita_engine *e, u64 now) {
    const u32 wait = fetch_weights(e, e->job.weights, 0, now);
    if (e->at < WEIGHT_ACCESSES) return wait;
    if (e->job.has_bias) enter(e, BIAS);
    else begin_group(e);
    return wait;
}

static u32 bias(ita_engine *e, u64 now) {
    enum { BYTES = ITA_BIAS_BYTES / BIAS_ACCESSES, VALUES = ITA_SIDE / BIAS_ACCESSES };
    const u32 from = e->job.bias + e->at * BYTES;
    const u8 *const packed = e->tcdm->data + from;
    for (u32 i = 0; i < VALUES; i++)
        e->bias[e->at * VALUES + i] = signed_bits(packed[3 * i] | (u32)packed[3 * i + 1] << 8 | (u32)packed[3 * i + 2] << 16, 24);
    if (++e->at == BIAS_ACCESSES) begin_group(e);
    return port_wait(e, from, BYTES, 1, now);
}

static u32 weights(ita_engine *e, u64 now) {
    const int is_here = e->group + 1 < ITA_GROUPS;
    const u32 wait = fetch_weights(e, is_here ? e->job.weights + (e->group + 1) * ITA_GROUP : e->job.next_weights, 1, now);
    if (e->at == WEIGHT_ACCESSES) enter(e, INPUT);
    return wait;
}

static const ita_scale *scale_of(const ita_engine *e) { return &e->job.scale[e->sequencer.step == STEP_LINEAR ? STEP_Q : e->sequencer.step]; }

static i32 finished(const ita_engine *e, u32 y, u32 x) {
    const ita_job *j = &e->job;
    const i32 value = ita_requantised((i64)e->sum[y][x] + (j->has_bias ? e->bias[j->bias_per_row ? y : x] : 0), scale_of(e));
    return e->sequencer.step == STEP_LINEAR || e->sequencer.step == STEP_F1 ? ita_activated(value, &j->activation) : value;
}

/* 16 columns of a row are summed up; where the softmax follows, it takes them as they come. */
static void finish(ita_engine *e, u32 y, i8 *out) {
    for (u32 o = 0; o < ITA_UNITS; o++) out[o] = (i8)finished(e, y, e->group * ITA_UNITS + o);
    if (e->sequencer.step == STEP_QK) ita_softmax_take(&e->softmax, &e->row[y], out);
}

static void take_row(ita_engine *e, u32 y, const i8 *from) {
    i16 row[ITA_ROW];
    const int takes_shares = e->sequencer.step == STEP_AV;
    for (u32 k = 0; k < ITA_ROW; k++) row[k] = takes_shares ? (i16)ita_share(&e->softmax, &e->row[y], from[k]) : from[k];
    ita_multiply(row, e->weights[0], &e->sum[y][e->group * ITA_UNITS]);
    if (ita_is_last_inner(&e->sequencer)) finish(e, y, e->out[y % 2]);
}

static void next_pair(ita_engine *e) {
    e->phase = INPUT;
    if (++e->at == PAIRS) end_group(e);
}

static u32 input(ita_engine *e, u64 now) {
    const u32 from = e->job.input + e->at * ITA_PORT;
    for (u32 i = 0; i < 2; i++) take_row(e, 2 * e->at + i, (const i8 *)e->tcdm->data + from + i * ITA_ROW);
    if (e->job.has_output) e->phase = OUTPUT;
    else next_pair(e);
    return port_wait(e, from, ITA_PORT, 1, now);
}

static u32 output(ita_engine *e, u64 now) {
    const u32 to = e->job.output + 2 * e->at * ITA_ROW + e->group * ITA_UNITS;
    for (u32 i = 0; i < 2; i++) {
        memcpy(e->tcdm->data + to + i * ITA_ROW, e->out[i], ITA_UNITS);
        check_written(e->tcdm, to + i * ITA_ROW, ITA_UNITS);
    }
    next_pair(e);
    return port_wait(e, to, ITA_UNITS, 2, now);
}

static u32 access_port(ita_engine *e, u64 now) {
    static u32 (*const PHASES[])(ita_engine *, u64) = {first_weights, bias, weights, input, output};
    return PHASES[e->phase](e, now);
}

static u64 due(const ita_engine *e) { return e->began + e->waited + (u64)e->done * e->cycles / e->accesses; }

/* The end of QK of a block of rows: what AV divides by. */
static void end_softmax(ita_engine *e) {
    for (u32 i = 0; i < ITA_SIDE; i++) ita_softmax_end(&e->softmax, &e->row[i]);
}

/* The next cycle to come again in; that in which the job is over, once all is read and written. */
u64 ita_go_on(ita_engine *e, u64 now) {
    for (; e->done < e->accesses && due(e) <= now; e->done++) e->waited += access_port(e, now);
    if (e->done < e->accesses) return due(e);
    if (e->sequencer.step == STEP_QK && e->sequencer.left == 1) end_softmax(e);
    return e->began + e->waited + e->cycles + ITA_JOB_TAIL;
}
