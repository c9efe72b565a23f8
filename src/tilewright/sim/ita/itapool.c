/* Several ITAs behind one set of commands: a start is a whole attention head, in the arithmetic of the first generation. */
#include "ita/ita.h"
#include "kinds/misuse.h"
#include "mempool/mempool.h"
#include <stdlib.h>

/* On a platform with other cores its accesses do not take banks. */
static mempool *pool_around(const sim *s) { return s->core[0].kind == &MEMPOOL_CORE ? pool_of(s) : NULL; }

enum { INSTANCE = 0x30, REGISTERS = 7, INSTANCES = 4, BLOCK = 16, LONGEST = 512, PORT = 64 };
enum { R_STATE, R_FROM, R_TO, R_RECORD, R_S, R_E, R_P };
enum { BIT_START = 1, BIT_BUSY = 2, BIT_DONE = 4, ITERATIONS = 7 << 5, SETTINGS = 1 << 4 | ITERATIONS };
enum { OF_Q, OF_K, OF_QK, OF_V, OF_AV, OF_OUT, SCALES = 8 };   /* order of the constants */

typedef struct {
    u32 reg[INSTANCES][REGISTERS];
    u64 end[INSTANCES], started[INSTANCES];   /* end 0: idle */
    u32 core[INSTANCES], pc[INSTANCES];       /* who started it */
} itapool;

/* ---- a head ---- */

typedef struct {
    sim *s;
    u32 core, pc;
    u64 now;
    u32 S, E, P;
    ita_scale scale[SCALES];
    const i8 *wo, *wv, *wk, *wq, *x, *y;      /* as they lie in memory */
    const u8 *bo, *bv, *bk, *bq;
    i8 *out;
} head;

/* NULL stops the run. */
static u8 *bytes_at(const head *h, u32 address, u32 bytes, u32 is_write) {
    u32 offset;
    memory *m = bus_memory(h->s, h->s->core[h->core].group, address, bytes, &offset);
    if (!m) {
        sim_fault(h->s, FAULT_DEVICE, &h->s->core[h->core], h->pc, h->now, address, bytes, is_write);
        return NULL;
    }
    if (is_write) check_written(m, offset, bytes);
    m->npu_bytes += bytes;
    return m->data + offset;
}

static i32 word_at(const u8 *words, u32 index) {
    i32 value;
    memcpy(&value, words + 4 * index, 4);
    return value;
}

static int read_scales(head *h, u32 record) {
    const u8 *const pointers = bytes_at(h, record, 12, 0);
    const u8 *const multipliers = pointers ? bytes_at(h, (u32)word_at(pointers, 0), SCALES, 0) : NULL;
    const u8 *const shifts = multipliers ? bytes_at(h, (u32)word_at(pointers, 1), SCALES, 0) : NULL;
    const u8 *const adds = shifts ? bytes_at(h, (u32)word_at(pointers, 2), 4 * SCALES, 0) : NULL;
    if (!adds) return 0;
    for (u32 i = 0; i < SCALES; i++) h->scale[i] = (ita_scale){multipliers[i], shifts[i], word_at(adds, i)};
    return 1;
}

static u32 block_bytes(u32 S, u32 E, u32 P) { return 4 * E * P + 2 * S * E + 4 * (E + 3 * P); }

/* Weights and biases are an instance's own, the inputs lie in the block of the first. */
static int read_blocks(head *h, u32 own, u32 shared) {
    const u32 weights = h->E * h->P, inputs = h->S * h->E;
    const u8 *const block = bytes_at(h, own, block_bytes(h->S, h->E, h->P), 0);
    const u8 *const first = block ? bytes_at(h, shared + 3 * weights, 2 * inputs, 0) : NULL;
    if (!first) return 0;
    h->wo = (const i8 *)block, h->wv = h->wo + weights, h->wk = h->wv + weights, h->wq = h->wk + weights + 2 * inputs;
    h->x = (const i8 *)first, h->y = h->x + inputs;
    h->bo = (const u8 *)h->wq + weights, h->bv = h->bo + 4 * h->E, h->bk = h->bv + 4 * h->P, h->bq = h->bk + 4 * h->P;
    return 1;
}

/* An element of a matrix that lies in column blocks of 16. */
static i8 in_blocks(const i8 *matrix, u32 rows, u32 y, u32 x) { return matrix[x / BLOCK * rows * BLOCK + y * BLOCK + x % BLOCK]; }

/* It computes with 32 bits, which wrap. */
static i8 requantised(const head *h, i32 sum, u32 which) {
    const ita_scale *k = &h->scale[which];
    const ita_scale rest = {1, k->shift, k->add};
    return (i8)ita_requantised((i32)((u32)sum * k->multiplier), &rest);
}

/* rows x P: an input against a projection's weights. */
static void project(const head *h, const i8 *input, const i8 *w, int w_in_blocks, const u8 *bias, u32 which, i8 *to) {
    for (u32 y = 0; y < h->S; y++)
        for (u32 o = 0; o < h->P; o++) {
            i32 sum = word_at(bias, o);
            for (u32 k = 0; k < h->E; k++) sum += in_blocks(input, h->S, y, k) * (w_in_blocks ? in_blocks(w, h->P, o, k) : w[o * h->E + k]);
            to[y * h->P + o] = requantised(h, sum, which);
        }
}

static void score(const head *h, const i8 *q, const i8 *k, i8 *scores, ita_softmax_row *row) {
    for (u32 x = 0; x < h->S; x++) {
        i32 sum = 0;
        for (u32 i = 0; i < h->P; i++) sum += q[i] * k[x * h->P + i];
        scores[x] = requantised(h, sum, OF_QK);
    }
    ita_softmax_begin(row);
    for (u32 x = 0; x < h->S; x += ITA_UNITS) ita_softmax_take(&ITAPOOL_SOFTMAX, row, scores + x);
    ita_softmax_end(&ITAPOOL_SOFTMAX, row);
}

static void mix(const head *h, const i8 *scores, const ita_softmax_row *row, const i8 *v, i8 *to) {
    for (u32 o = 0; o < h->P; o++) {
        i32 sum = 0;
        for (u32 x = 0; x < h->S; x++) sum += (i32)ita_share(&ITAPOOL_SOFTMAX, row, scores[x]) * v[x * h->P + o];
        to[o] = requantised(h, sum, OF_AV);
    }
}

static void project_out(const head *h, const i8 *mixed, i8 *to) {
    for (u32 o = 0; o < h->E; o++) {
        i32 sum = word_at(h->bo, o);
        for (u32 i = 0; i < h->P; i++) sum += mixed[i] * h->wo[o * h->P + i];
        to[o] = requantised(h, sum, OF_OUT);
    }
}

static void compute(const head *h) {
    const size_t rows = (size_t)h->S * h->P;
    i8 *const work = malloc(3 * rows + h->S + h->P), *const q = work, *const k = q + rows, *const v = k + rows, *const scores = v + rows, *const mixed = scores + h->S;
    ita_softmax_row row;
    project(h, h->x, h->wq, 1, h->bq, OF_Q, q);
    project(h, h->y, h->wk, 0, h->bk, OF_K, k);
    project(h, h->y, h->wv, 0, h->bv, OF_V, v);
    for (u32 y = 0; y < h->S; y++) {
        score(h, q + y * h->P, k, scores, &row);
        mix(h, scores, &row, v, mixed);
        project_out(h, mixed, h->out + y * h->E);
    }
    free(work);
}

/* ---- time ---- */

/* Results tile by tile, each over some inner blocks. */
static u64 product_cycles(u32 tiles, u32 inner, u32 has_bias) {
    const ita_job partial = {.fetch_next = 1}, last = {.fetch_next = 1, .has_bias = has_bias, .has_output = 1};
    const u64 before = ita_cycles(ita_accesses(&partial)) + ITA_JOB_TAIL, end = ita_cycles(ita_accesses(&last)) + ITA_JOB_TAIL;
    return tiles * ((inner - 1) * before + end);
}

/* What the tiles of a head take one after the other, without conflicts. */
static u64 head_cycles(u32 S, u32 E, u32 P) {
    const u32 s = S / ITA_SIDE, e = E / ITA_SIDE, p = P / ITA_SIDE;
    return ITA_LAYER_START + 3 * product_cycles(s * p, e, 1) + product_cycles(s * s, p, 0) + product_cycles(s * p, s, 0) + product_cycles(s * e, p, 1);
}

/* ---- registers ---- */

static int overlaps(u32 a, u32 a_size, u32 b, u32 b_size) { return a < b + b_size && b < a + a_size; }
static int is_size(u32 n) { return n && n % ITA_SIDE == 0 && n <= LONGEST; }
static int has_sizes(const u32 *r) { return is_size(r[R_S]) && is_size(r[R_E]) && is_size(r[R_P]); }

static void start(sim *s, device *d, u32 i, const access *a) {
    itapool *n = d->state;
    const u32 *const r = n->reg[i];
    check_misuse(s, MISUSE_POOL_SIZES, !has_sizes(r), a);
    check_misuse(s, MISUSE_POOL_ITERATIONS, (a->value & ITERATIONS) != 0, a);
    if (!has_sizes(r)) return;
    n->started[i] = a->now;
    n->end[i] = a->now + ITA_START + head_cycles(r[R_S], r[R_E], r[R_P]);
    n->core[i] = a->core, n->pc[i] = a->pc;
    n->reg[i][R_STATE] = (n->reg[i][R_STATE] & ~(u32)BIT_DONE) | BIT_BUSY;
    sim_schedule(s, d->actor, pool_around(s) ? a->now + 1 : n->end[i]);
}

/* The head is read and written in its last cycle. */
static void finish(sim *s, device *d, u32 i, u64 now) {
    itapool *n = d->state;
    u32 *const r = n->reg[i];
    head h = {.s = s, .core = n->core[i], .pc = n->pc[i], .now = now, .S = r[R_S], .E = r[R_E], .P = r[R_P]};
    if (!read_scales(&h, r[R_RECORD]) || !read_blocks(&h, r[R_FROM], n->reg[0][R_FROM])) return;
    h.out = (i8 *)bytes_at(&h, r[R_TO], h.S * h.E, 1);
    if (!h.out) return;
    compute(&h);
    r[R_STATE] = (r[R_STATE] & ~(u32)BIT_BUSY) | BIT_DONE;
    n->end[i] = 0;
    d->busy += now - n->started[i];
    observe_span(s, d->actor, SPAN_JOB, n->started[i], now);
    probe_job(s, d, n->started[i], now);
}

/* In MemPool: its port takes all banks of a tile each cycle, from the beginning of its block to the end and again. */
static void take_banks(sim *s, const itapool *n, u32 i, u64 now) {
    const u32 *const r = n->reg[i];
    const core *c = &s->core[n->core[i]];
    for (u64 at = now; pool_around(s) && at < earlier(now + TURN, n->end[i]); at++) {
        const u32 address = r[R_FROM] + (u32)((at - n->started[i]) * PORT % block_bytes(r[R_S], r[R_E], r[R_P]));
        for (u32 word = 0; word < PORT && address + word < c->local_size; word += 4) book_bank(pool_around(s), address + word, at);
    }
}

static u64 tick(sim *s, device *d, u64 now) {
    itapool *n = d->state;
    u64 next = NEVER;
    for (u32 i = 0; i < INSTANCES; i++) {
        if (n->end[i] && n->end[i] <= now) finish(s, d, i, now);
        if (!n->end[i] || s->fault.reason) continue;
        take_banks(s, n, i, now);
        next = earlier(next, pool_around(s) ? earlier(n->end[i], now + TURN) : n->end[i]);
    }
    return next;
}

/* Does a core touch what a head writes, or write what it reads? */
static int conflicts(const sim *s, const device *d, const memory *m, u32 address, u32 size, u32 is_write) {
    (void)s, (void)m;
    const itapool *n = d->state;
    for (u32 i = 0; i < INSTANCES; i++) {
        const u32 *const r = n->reg[i], inputs = r[R_S] * r[R_E];
        if (!n->end[i]) continue;
        if (overlaps(address, size, r[R_TO], inputs)) return 1;
        if (is_write && overlaps(address, size, r[R_FROM], block_bytes(r[R_S], r[R_E], r[R_P]))) return 1;
        if (is_write && overlaps(address, size, n->reg[0][R_FROM] + 3 * r[R_E] * r[R_P], 2 * inputs)) return 1;
    }
    return 0;
}

static int is_at_work(const device *d) {
    const itapool *n = d->state;
    return n->end[0] || n->end[1] || n->end[2] || n->end[3];
}

static void read(sim *s, device *d, access *a) {
    (void)s;
    const u32 i = a->offset / INSTANCE, index = a->offset % INSTANCE / 4;
    a->value = i < INSTANCES && index < REGISTERS ? ((itapool *)d->state)->reg[i][index] : 0;
}

static void write(sim *s, device *d, access *a) {
    itapool *n = d->state;
    const u32 i = a->offset / INSTANCE, index = a->offset % INSTANCE / 4;
    if (i >= INSTANCES || index >= REGISTERS) return;
    check_misuse(s, MISUSE_UNIT_BUSY, n->end[i] != 0, a);
    if (n->end[i]) return;
    if (index != R_STATE) n->reg[i][index] = a->value;
    else n->reg[i][R_STATE] = (n->reg[i][R_STATE] & BIT_DONE) | (a->value & SETTINGS);
    if (index == R_STATE && (a->value & BIT_START)) start(s, d, i, a);
}

static void reset(sim *s, device *d) { (void)s, memset(d->state, 0, sizeof(itapool)); }

const device_type ITAPOOL = {.name = "ITAPool", .state_bytes = sizeof(itapool), .reset = reset, .read = read, .write = write, .tick = tick,
    .conflicts = conflicts,
    .conflict = FAULT_MISUSE,
    .is_at_work = is_at_work};
