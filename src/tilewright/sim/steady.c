/* Plans of steady units: when they begin, what happens in them, and what is made up for at their end (steady.h). */
#include "steady.h"
#include "float32_host.h"

static inline const fpu_entry *entry(const snitch *n, u32 position) { return &n->queue[(n->first + position) % FPU_QUEUE]; }
static inline u32 has_register(u32 all, u32 number) { return number == (all >> 8 & 63) || number == (all >> 16 & 63) || number == all >> 24; }

/* Is it arithmetic that needs none of the results before it that are not there yet? */
static int is_free(const fpu_entry *e, const u32 *results) {
    if (e->of.latency != FPU_ARITHMETIC || e->of.interval != 1 || e->stagger || (e->registers & 63) > NO_REGISTER) return 0;
    return !has_register(e->registers, results[0]) && !has_register(e->registers, results[1]) && !has_register(e->registers, results[2]);
}

/* ... all of a body, time after time? */
static int are_free(const snitch *n, u32 body) {
    u32 results[FPU_ARITHMETIC - 1], at = body;
    for (u32 i = 0; i < FPU_ARITHMETIC - 1; i++) {
        at = (at ? at : body) - 1;
        results[i] = entry(n, at)->registers & 63;
    }
    for (u32 p = 0; p < body; p++) {
        const fpu_entry *e = entry(n, p);
        if (!is_free(e, results)) return 0;
        results[2] = results[1], results[1] = results[0], results[0] = e->registers & 63;
    }
    return 1;
}

/* Is a stream read by every so many instructions, or by none? */
static int find_gap(const snitch *n, fpu_entry *head, u32 i) {
    u32 reads = 0, body = head->body, phase = 0;
    for (u32 p = 0; p < body; p++) reads += entry(n, p)->reads >> i & 1;
    head->gap[i] = 0;
    if (!reads) return 1;
    u32 gap = body / reads;
    while (!(entry(n, phase)->reads >> i & 1)) phase++;
    if (gap * reads != body || phase >= gap) return 0;
    for (u32 p = phase; p < body; p += gap)
        if (!(entry(n, p)->reads >> i & 1)) return 0;
    head->gap[i] = (u8)gap, head->phase[i] = (u8)phase;
    return 1;
}

static int is_regular(const snitch *n, fpu_entry *head) {
    if (head->regularity != NOT_KNOWN) return head->regularity == REGULAR;
    int found = are_free(n, head->body);
    for (u32 i = 0; i < STREAM_MOVERS && found; i++) found = find_gap(n, head, i);
    found = found && (head->gap[0] || head->gap[1] || head->gap[2]);
    head->regularity = found ? REGULAR : IRREGULAR;
    return found;
}

/* When the next instruction begins, if an element that is fetched for it does not wait. */
static u64 first_begin(const snitch *n) {
    const fpu_entry *e = entry(n, n->position);
    const u32 all = e->registers, of[] = {all >> 8 & 63, all >> 16 & 63, all >> 24};
    u64 when = later(e->when, n->next);
    for (u32 i = 0; i < 3; i++) {
        u64 ready = n->f_ready[of[i]];
        if (ready == NEVER) {
            ready = n->mover[of[i] - STREAM_REGISTER].due;
            if (ready == NEVER) return NEVER;
            ready++;
        }
        when = later(when, ready);
    }
    return when;
}

/* Are operands that are no elements there in time? Once a body was executed that is certain of all but the last results. */
static int is_ready(const snitch *n, u32 body, u64 from) {
    u32 doubtful = n->repetition && body > FPU_ARITHMETIC ? FPU_ARITHMETIC : body;
    for (u32 k = 0, p = n->position; k < doubtful; k++, p = p + 1 == body ? 0 : p + 1) {
        const fpu_entry *e = entry(n, p);
        const u32 all = e->registers, of[] = {all >> 8 & 63, all >> 16 & 63, all >> 24};
        if (e->when > from + k) return 0;
        for (u32 i = 0; i < 3; i++)
            if (of[i] <= NO_REGISTER && n->f_ready[of[i]] > from + k) return 0;
    }
    return 1;
}

/* Instructions from the next one to the first that reads a stream. */
static u32 first_read(const snitch *n, const fpu_entry *head, u32 i) {
    u32 past = n->position % head->gap[i];
    return head->phase[i] >= past ? head->phase[i] - past : head->phase[i] + head->gap[i] - past;
}

/* The plan of a data mover, if the elements that it has come in time and there is a place for the next ones when they are planned. */
static int plan_mover(const core *c, const snitch *n, const fpu_entry *head, u32 i, steady_unit *u) {
    const data_mover *m = &n->mover[i];
    if (!head->gap[i]) return m->due == NEVER;
    if (m->is_write) return 0;
    steady_mover *p = &u->mover[u->movers++];
    const u64 gap = head->gap[i], step = gap * (m->repeat + 1ull);
    const u64 first = u->from + first_read(n, head, i), second = first + step - gap * m->delivered; /* uses of the first two elements */
    for (u32 e = 0; e < m->used; e++)
        if (m->ready[(m->head + e) % STREAM_FIFO] > (e ? second + (e - 1) * step : first)) return 0;
    p->needed = m->used ? second + (m->used - 1) * step : first;
    p->opens = second - gap + 1; /* that is after the last use of the first element */
    const u64 due = m->used == STREAM_FIFO ? later(m->next, p->opens) : m->due;
    if (m->used < STREAM_FIFO) {
        u64 missing = STREAM_FIFO - m->used;
        if (p->opens < missing * step) return 0;
        p->opens -= missing * step;
        for (u64 e = 1; e < missing; e++)
            if (p->opens + e * step > due + e && m->is_running) return 0;
    }
    p->due = m->is_running ? due : NEVER;
    if (!m->is_running) u->until = earlier(u->until, p->needed);
    else if (due >= p->needed) return 0;
    p->ready = m->next, p->step = step;
    p->offset = m->address - c->local_base, p->stride = m->stride[0], p->left = m->bound[0] - m->count[0];
    p->begun = p->logged = m->used, p->number = i, p->unit = u;
    for (u32 e = 0; e < m->used; e++) p->log[e] = m->fifo[(m->head + e) % STREAM_FIFO];
    return 1;
}

/* Of the body's last time, in which instructions leave the queue: those after which the core still waits. */
static u32 last_time(const snitch *n, const fpu_entry *head) {
    if (n->waits_for_unit != 1) return 0;
    return n->used > head->body ? head->body : head->body - 1;
}

static int plan(steady *y, core *c) {
    snitch *n = c->snitch;
    steady_unit *u = &y->unit[c->rank];
    fpu_entry *head = &n->queue[n->first];
    if (n->repetition >= head->repeats || n->used < head->body || n->used < n->waits_for_unit) return 0;
    u64 count = (u64)(head->repeats - n->repetition) * head->body - n->position + last_time(n, head);
    if (count < STEADY_LEAST || !is_regular(n, head)) return 0;
    u64 from = first_begin(n);
    if (from == NEVER || from > y->now + STEADY_LEAST || !is_ready(n, head->body, from)) return 0;
    u->from = from, u->until = earlier(from + count, y->now + STEADY_LONGEST), u->movers = 0;
    for (u32 i = 0; i < STREAM_MOVERS; i++)
        if (!plan_mover(c, n, head, i, u)) return 0;
    return u->until >= from + STEADY_LEAST;
}

/* Who is steady, in the order of acting. */
static void note_units(sim *s) {
    steady *y = s->steady;
    s->steady_units = y->movers = 0;
    y->first_end = NEVER;
    u32 r = 0;
    for (; r < s->cores && r < STEADY_RANKS; r++) {
        steady_unit *u = &y->unit[r];
        y->first_of[r] = (u8)y->movers;
        if (!s->by_rank[r]->snitch->is_steady) continue;
        y->steady[s->steady_units++] = u;
        y->first_end = earlier(y->first_end, u->until);
        for (u32 i = 0; i < u->movers; i++) {
            u->mover[i].index = y->movers;
            y->due[y->movers] = u->mover[i].due;
            y->mover[y->movers++] = &u->mover[i];
        }
    }
    for (; r < STEADY_UNITS; r++) y->first_of[r] = (u8)y->movers;
}

static int begin(sim *s, core *c) {
    if (!plan(s->steady, c)) return 0;
    c->snitch->is_steady = c->snitch->due = NEVER;
    s->steady->unit[c->rank].c = c;
    note_units(s);
    return 1;
}

int steady_begin(sim *s, core *c) {
    steady *y = s->steady;
    if (c->rank >= STEADY_RANKS || !c->local_size || s->queue.is_wide || s->is_locked) return 0;
    if (!s->steady_units) {
        y->now = s->queue.now, y->rank = c->rank;
        y->tcdm = (banks){c->local, c->local_free, c->local_size, c->snitch->bank_shift, c->bank_mask};
    }
    return y->tcdm.data == c->local && begin(s, c);
}

/* ---- the end of a plan ---- */

static inline u64 result_of(core *c, const snitch *n, const fpu_entry *e, u32 all) {
    const u32 rs1 = all >> 8 & 63, rs2 = all >> 16 & 63, rs3 = all >> 24;
    const u32 unchecked = (rs1 > NO_REGISTER) | (rs2 > NO_REGISTER) << 1 | (rs3 > NO_REGISTER) << 2;
    return fpu_execute(c, e, n->f[rs1], n->f[rs2], n->f[rs3], unchecked);
}

typedef struct { const u64 *element; u32 delivered, repeat; } delivery;

static inline void deliver(snitch *n, u32 i, delivery *d) {
    if (d->delivered++ != d->repeat) return;
    d->delivered = 0;
    n->f[STREAM_REGISTER + i] = *++d->element;
}

/* Products of pairs of singles that are added, to nearest, while the flag for inexact is up already: a bit per instruction. */
static u32 quick_ones(const core *c, const snitch *n, u32 body) {
    u32 bits = 0;
    for (u32 p = 0; p < body && (c->fcsr_flags & FLAG_INEXACT); p++) {
        const fpu_entry *e = entry(n, p);
        bits |= (u32)(e->op == SN_vfmac_s && !e->lanes_repeat && e->rm == RM_NEAREST_EVEN) << p;
    }
    return bits;
}

static inline void deliver_all(snitch *n, u32 reads, delivery *d) {
    if (reads & 1) deliver(n, 0, &d[0]);
    if (reads & 2) deliver(n, 1, &d[1]);
    if (reads & 4) deliver(n, 2, &d[2]);
}

/* Quick ones, as many as there are; without calls, so that all stays in registers of the host. Returns how many are left. */
static u64 compute_quick(snitch *n, u32 quick, u32 body, u32 *position, u64 count, delivery *deliveries) {
    delivery d[STREAM_MOVERS] = {deliveries[0], deliveries[1], deliveries[2]};
    u32 p = *position;
    for (; count && quick >> p & 1; count--) {
        const fpu_entry *e = entry(n, p);
        const u32 all = e->registers;
        u64 result;
        if (!f32_fma_pair_quick(n->f[all >> 8 & 63], n->f[all >> 16 & 63], n->f[all >> 24], &result)) break;
        n->f[all & 63] = result;
        deliver_all(n, e->reads, d);
        p = p + 1 == body ? 0 : p + 1;
    }
    *position = p;
    memcpy(deliveries, d, sizeof d);
    return count;
}

static void compute(core *c, snitch *n, u32 body, u64 count, delivery *d) {
    u32 position = n->position;
    const u32 quick = quick_ones(c, n, body);
    for (; count; count--) {
        if (quick >> position & 1 && !(count = compute_quick(n, quick, body, &position, count, d))) return;
        const fpu_entry *e = entry(n, position);
        n->f[e->registers & 63] = result_of(c, n, e, e->registers);
        deliver_all(n, e->reads, d);
        position = position + 1 == body ? 0 : position + 1;
    }
}

/* The FIFO and the place in memory of a data mover; elements before the last one have been there for some time. */
static void settle_mover(snitch *n, const core *c, const steady_mover *p, const delivery *d) {
    data_mover *m = &n->mover[p->number];
    u32 taken = (u32)(d->element - p->log);
    for (u32 e = taken > p->begun ? taken : p->begun; e < p->logged; e++) {
        u32 slot = (m->head + e) % STREAM_FIFO;
        m->fifo[slot] = p->log[e], m->ready[slot] = e + 1 == p->logged ? p->ready : 0;
    }
    m->head = (m->head + taken) % STREAM_FIFO, m->used = p->logged - taken, m->delivered = d->delivered;
    m->next = m->used < STREAM_FIFO && p->due != NEVER ? p->due : p->ready;
    if (m->is_running) m->address = p->offset + c->local_base, m->count[0] = m->bound[0] - p->left;
    n->moved += p->logged - p->begun;
    mover_plan(n, m);
    mover_show(n, m, p->number);
}

/* Instructions that leave the queue. */
static void leave_queue(snitch *n, u32 count, u64 from) {
    fpu_entry *head = &n->queue[n->first];
    const u32 body = head->body, repeats = head->repeats;
    for (u32 i = 0; i < count; i++) n->freed[(n->first + i) % FPU_QUEUE] = from + i;
    n->first = (n->first + count) % FPU_QUEUE;
    n->used -= count;
    n->position = 0;
    if (count == body) {
        n->repetition = n->stagger = 0;
        return;
    }
    n->queue[n->first].body = body - count;
    n->queue[n->first].repeats = repeats;
}

static void settle_unit(snitch *n, core *c, const fpu_entry *head, u64 from, u64 count) {
    const u32 body = head->body;
    const u64 position = n->position + count, repeated = (u64)(head->repeats - n->repetition) * body;
    for (u64 k = count > body ? count - body : 0; k < count; k++)
        n->f_ready[entry(n, (u32)((n->position + k) % body))->registers & 63] = from + k + FPU_ARITHMETIC;
    const u32 left = (u32)excess(position, repeated), whole = (u32)((position - left) / body);
    n->next = from + count;
    n->idle = later(n->idle, n->next - 1 + FPU_ARITHMETIC);
    n->repeated += count - left;
    c->counted[COUNT_FLOAT] += count;
    n->repetition += whole;
    n->stagger = (n->stagger + whole) % (head->stagger_max + 1u);
    n->position = (u32)(position % body);
    if (left) leave_queue(n, left, n->next - left);
}

/* Brings a unit up to a cycle; what its core waited for meanwhile is counted. */
static void settle(steady_unit *u, u64 end) {
    core *c = u->c;
    snitch *n = c->snitch;
    const fpu_entry *head = &n->queue[n->first];
    const u64 count = excess(earlier(end, u->until), u->from);
    delivery d[STREAM_MOVERS] = {{0}};
    for (u32 i = 0; i < u->movers; i++) {
        const steady_mover *p = &u->mover[i];
        d[p->number] = (delivery){p->log, n->mover[p->number].delivered, n->mover[p->number].repeat};
        n->f[STREAM_REGISTER + p->number] = p->log[0];
    }
    compute(c, n, head->body, count, d);
    if (count) settle_unit(n, c, head, u->from, count);
    for (u32 i = 0; i < u->movers; i++) settle_mover(n, c, &u->mover[i], &d[u->mover[i].number]);
    n->due = later(earlier(movers_due(n), n->next), end);
    n->is_steady = 0;
}

/* Back to the queue: with the next that the core or its unit does, in the place of what the core does next. */
static void back_to_queue(sim *s, core *c, u64 now) {
    snitch *n = c->snitch;
    if (c->status == CORE_RUNNING && !n->waits_for_unit) queue_remove(&s->queue, c->rank, c->t);
    if (c->status == CORE_RUNNING && n->waits_for_unit && n->due != NEVER && n->due > c->t) c->stall[STALL_FPU] += n->due - c->t, c->t = n->due;
    queue_push(&s->queue, c->rank, now);
}

/* Instructions that others do not see begin as early as they can. */
static void go_ahead(sim *s, core *c, u64 end) {
    snitch *n = c->snitch;
    if (n->next >= end && entry(n, n->position)->is_shared) return;
    if (n->waits_for_unit) fpu_make_room(s, c, end, n->waits_for_unit);
    else fpu_run(s, c, end);
}

void steady_end_all(sim *s, const core *running) {
    steady *y = s->steady;
    for (u32 i = 0; i < s->steady_units; i++) {
        core *c = y->steady[i]->c;
        u64 end = y->now + (c->rank < y->rank);
        settle(y->steady[i], end);
        if (c == running) continue;
        go_ahead(s, c, end);
        back_to_queue(s, c, end);
    }
    note_units(s);
}

/* ---- what happens in plans ---- */

/* Beyond a row. A stream that is at its end has no more elements for the unit. */
static __attribute__((noinline)) void next_row(steady *y, steady_mover *p) {
    const core *c = p->unit->c;
    data_mover *m = &c->snitch->mover[p->number];
    m->address = p->offset + c->local_base;
    mover_next_row(m);
    p->offset = m->address - c->local_base, p->left = m->bound[0];
    if (m->is_running) return;
    p->due = NEVER;
    p->unit->until = earlier(p->unit->until, p->needed);
    y->first_end = earlier(y->first_end, p->unit->until);
}

/* One access, as mover_step(). */
static inline __attribute__((always_inline)) void step(steady *y, const banks at, steady_mover *p, u64 now) {
    const u32 offset = p->offset;
    const u64 port = p->number ? 0 : snitch_port_wait(p->unit->c->snitch, now);
    u64 *free = &at.free[offset >> at.shift & at.mask];
    const u64 bank = excess(*free, now + port), wait = port + bank, ready = now + 1 + excess(wait, STREAM_HIDDEN_WAIT), needed = p->needed;
    *free = now + wait + 1;
    memcpy(&p->log[p->logged++], at.data + offset, STREAM_ELEMENT);
    p->ready = ready;
    p->needed = needed + p->step;
    p->opens += p->step;
    p->due = later(ready, p->opens);
    if (LIKELY(p->left)) p->left--, p->offset = offset + p->stride;
    else next_row(y, p);
    y->due[p->index] = p->due;
    if (UNLIKELY(ready > needed)) {
        p->unit->until = earlier(p->unit->until, needed);
        y->first_end = earlier(y->first_end, needed);
    }
}

static inline int is_outside(const banks at, const steady_mover *p) { return p->offset > at.size - STREAM_ELEMENT; }

/* Accesses of some data movers in a cycle. Returns 0 where one is none to TCDM. */
static inline __attribute__((always_inline)) int make_accesses(steady *y, const banks at, u64 now, u32 first, u32 end) {
    for (u32 i = first; i < end; i++) {
        if (y->due[i] != now) continue;
        if (UNLIKELY(is_outside(at, y->mover[i]))) return 0;
        step(y, at, y->mover[i], now);
    }
    return 1;
}

/* Whole cycles in which no plan ends, after the rest of the present one. Returns 0 before one in which more is to be done. */
static int make_cycles(steady *y, u64 end) {
    const banks at = y->tcdm;
    for (u32 first = y->first_of[y->rank]; y->now < end; first = 0) {
        if (y->now >= y->first_end || !make_accesses(y, at, y->now, first, y->movers)) return 0;
        y->now++;
        y->rank = 0;
    }
    return 1;
}

/* Accesses of a unit in a cycle, and the end of its plan. Returns 0 where it has none any more. */
static int act(sim *s, steady *y, steady_unit *u, u64 now) {
    const banks at = y->tcdm;
    int is_outside_tcdm = 0;
    for (u32 i = 0; i < u->movers && !is_outside_tcdm; i++) {
        if (u->mover[i].due != now) continue;
        is_outside_tcdm = is_outside(at, &u->mover[i]);
        if (!is_outside_tcdm) step(y, at, &u->mover[i], now);
    }
    if (u->until != now && !is_outside_tcdm) return 1;
    settle(u, now);
    if (!is_outside_tcdm && begin(s, u->c)) return 1;
    back_to_queue(s, u->c, now);
    note_units(s);
    return 0;
}

/* ... where a plan may end. Returns 0 where a core whose unit is steady no longer comes first. */
static int act_all(sim *s, steady *y, u64 now, u32 below) {
    for (u32 r = 0; r < s->cores && r < below; r++) {
        y->rank = r;
        if (s->by_rank[r]->snitch->is_steady && !act(s, y, &y->unit[r], now)) return 0;
    }
    return 1;
}

void steady_advance(sim *s) {
    steady *y = s->steady;
    u64 when;
    u32 actor = queue_first(&s->queue, &when);
    if (when >= s->stop) when = s->stop, actor = 0;
    if (actor > STEADY_RANKS) actor = STEADY_RANKS;
    while (!make_cycles(y, when)) {
        if (!act_all(s, y, y->now, STEADY_RANKS)) return;
        y->now++;
        y->rank = 0;
    }
    if (y->first_end <= when || !make_accesses(y, y->tcdm, when, y->first_of[y->rank], y->first_of[actor]))
        if (!act_all(s, y, when, actor)) return;
    y->rank = actor;
    if (when == s->stop) steady_end_all(s, NULL);
}
