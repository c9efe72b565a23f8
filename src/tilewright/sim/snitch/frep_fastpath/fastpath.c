/* Units that are fastpath: what happens while they are, and what is made up for at its end (fastpath.h). */
#include "snitch/frep_fastpath/fastpath.h"

/* Who is fastpath, in the order of acting. */
static void note_units(sim *s) {
    fastpath *y = cluster_of(s)->fastpath;
    cluster_of(s)->units = y->movers = 0;
    y->first_end = NEVER;
    u32 r = 0;
    for (; r < s->cores && r < FASTPATH_RANKS; r++) {
        fastpath_unit *u = &y->unit[r];
        y->first_of[r] = (u8)y->movers;
        if (!snitch_of(s->by_rank[r])->on_fastpath) continue;
        y->active[cluster_of(s)->units++] = u;
        y->first_end = earlier(y->first_end, u->until);
        for (u32 i = 0; i < u->movers; i++) {
            u->mover[i].index = y->movers;
            y->due[y->movers] = u->mover[i].at.due;
            y->mover[y->movers++] = &u->mover[i];
        }
    }
    for (; r < FASTPATH_UNITS; r++) y->first_of[r] = (u8)y->movers;
}

static int begin(sim *s, core *c) {
    if (!fastpath_plan(cluster_of(s)->fastpath, c)) return 0;
    snitch_of(c)->on_fastpath = snitch_of(c)->due = NEVER;
    cluster_of(s)->fastpath->unit[c->rank].c = c;
    note_units(s);
    return 1;
}

int fastpath_begin(sim *s, core *c) {
    fastpath *y = cluster_of(s)->fastpath;
    if (c->rank >= FASTPATH_RANKS || !c->local_size || s->queue.is_wide || s->is_locked) return 0;
    if (!cluster_of(s)->units) {
        y->now = y->conflict_free_from = s->queue.now, y->rank = c->rank, y->conflict_free_pause = 1;
        y->tcdm = (banks){c->local, c->local_free, c->local_size, snitch_of(c)->bank_shift, c->bank_mask};
    }
    return y->tcdm.data == c->local && begin(s, c);
}

void fastpath_wait(sim *s, core *c) {
    fastpath *y = cluster_of(s)->fastpath;
    fastpath_extend(c, &y->unit[c->rank]);
    y->first_end = NEVER;
    for (u32 i = 0; i < cluster_of(s)->units; i++) y->first_end = earlier(y->first_end, y->active[i]->until);
}

/* ---- the end of a plan ---- */

/* The FIFO and the place in memory of a data mover; elements before the last one have been there for some time. */
static void settle_mover(snitch *n, const core *c, const fastpath_mover *p, const delivery *d) {
    data_mover *m = &n->mover[p->number];
    const mover_place *at = &p->at;
    u32 taken = (u32)(d->element - p->log);
    for (u32 e = taken > p->begun ? taken : p->begun; e < at->logged; e++) {
        u32 slot = (m->head + e) % STREAM_FIFO;
        m->fifo[slot] = p->log[e], m->ready[slot] = e + 1 == at->logged ? at->ready : 0;
    }
    m->head = (m->head + taken) % STREAM_FIFO, m->used = at->logged - taken, m->delivered = d->delivered;
    m->next = m->used < STREAM_FIFO && at->due != NEVER ? at->due : at->ready;
    if (m->is_running) m->address = at->offset + c->local_base, m->count[0] = m->bound[0] - at->left;
    n->moved += at->logged - p->begun;
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
        n->f_ready[fastpath_entry(n, (u32)((n->position + k) % body))->registers & 63] = from + k + FPU_ARITHMETIC;
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
static void settle(fastpath_unit *u, u64 end) {
    core *c = u->c;
    snitch *n = snitch_of(c);
    const fpu_entry *head = &n->queue[n->first];
    const u64 count = excess(earlier(end, u->until), u->from);
    delivery d[STREAM_MOVERS] = {{0}};
    for (u32 i = 0; i < u->movers; i++) {
        const fastpath_mover *p = &u->mover[i];
        d[p->number] = (delivery){p->log, n->mover[p->number].delivered, n->mover[p->number].repeat};
        n->f[STREAM_REGISTER + p->number] = p->log[0];
    }
    fastpath_compute(c, n, head->body, count, d);
    if (count) settle_unit(n, c, head, u->from, count);
    for (u32 i = 0; i < u->movers; i++) settle_mover(n, c, &u->mover[i], &d[u->mover[i].number]);
    n->due = later(earlier(movers_due(n), n->next), end);
    n->on_fastpath = 0;
}

/* Back to the queue: with the next that the core or its unit does, in the place of what the core does next. */
static void back_to_queue(sim *s, core *c, u64 now) {
    snitch *n = snitch_of(c);
    if (c->status == CORE_RUNNING && !n->waits_for_unit) queue_remove(&s->queue, c->rank, c->t);
    if (c->status == CORE_RUNNING && n->waits_for_unit && n->due != NEVER && n->due > c->t) c->stall[STALL_FPU] += n->due - c->t, c->t = n->due;
    queue_push(&s->queue, c->rank, now);
}

/* Instructions that others do not see begin as early as they can. */
static void go_ahead(sim *s, core *c, u64 end) {
    snitch *n = snitch_of(c);
    if (n->next >= end && fastpath_entry(n, n->position)->is_shared) return;
    if (n->waits_for_unit) fpu_make_room(s, c, end, n->waits_for_unit);
    else fpu_run(s, c, end);
}

void fastpath_end_all(sim *s, const core *running) {
    fastpath *y = cluster_of(s)->fastpath;
    for (u32 i = 0; i < cluster_of(s)->units; i++) {
        core *c = y->active[i]->c;
        u64 end = y->now + (c->rank < y->rank);
        settle(y->active[i], end);
        if (c == running) continue;
        go_ahead(s, c, end);
        back_to_queue(s, c, end);
    }
    note_units(s);
}

/* ---- what happens in plans ---- */

/* One access, as mover_step(). */
static inline __attribute__((always_inline)) void step(fastpath *y, const banks at, fastpath_mover *p, u64 now) {
    const u32 offset = p->at.offset;
    const u64 port = p->number ? 0 : snitch_port_wait(snitch_of(p->unit->c), now);
    u64 *free = &at.free[offset >> at.shift & at.mask];
    const u64 bank = excess(*free, now + port), wait = port + bank, ready = now + 1 + excess(wait, STREAM_HIDDEN_WAIT), needed = p->at.needed;
    *free = now + wait + 1;
    memcpy(&p->log[p->at.logged++], at.data + offset, STREAM_ELEMENT);
    p->at.ready = ready;
    p->at.needed = needed + p->step;
    p->at.opens += p->step;
    p->at.due = later(ready, p->at.opens);
    if (LIKELY(p->at.left)) p->at.left--, p->at.offset = offset + p->stride;
    else fastpath_next_row(p, p->unit->c);
    y->due[p->index] = p->at.due;
    if (UNLIKELY(ready > needed)) {
        p->unit->limit = earlier(p->unit->limit, needed);
        p->unit->until = earlier(p->unit->until, needed);
        y->first_end = earlier(y->first_end, needed);
    }
}

static inline int is_outside(const banks at, const fastpath_mover *p) { return p->at.offset > at.size - STREAM_ELEMENT; }

/* Accesses of some data movers in a cycle. Returns 0 where one is none to TCDM. */
static inline __attribute__((always_inline)) int make_accesses(fastpath *y, const banks at, u64 now, u32 first, u32 end) {
    for (u32 i = first; i < end; i++) {
        if (y->due[i] != now) continue;
        if (UNLIKELY(is_outside(at, y->mover[i]))) return 0;
        step(y, at, y->mover[i], now);
    }
    return 1;
}

/* Whole cycles in which no plan ends, after the rest of the present one. Returns 0 before one in which more is to be done. */
static int make_cycles(fastpath *y, u64 end) {
    const banks at = y->tcdm;
    for (u32 first = y->first_of[y->rank]; y->now < end; first = 0) {
        if (!y->rank && y->now >= y->conflict_free_from) fastpath_conflict_free(y, earlier(end, y->first_end));
        if (y->now >= end) break;
        if (y->now >= y->first_end || !make_accesses(y, at, y->now, first, y->movers)) return 0;
        y->now++;
        y->rank = 0;
    }
    return 1;
}

/* Accesses of a unit in a cycle, and the end of its plan. Returns 0 where it has none any more. */
static int act(sim *s, fastpath *y, fastpath_unit *u, u64 now) {
    const banks at = y->tcdm;
    int is_outside_tcdm = 0;
    for (u32 i = 0; i < u->movers && !is_outside_tcdm; i++) {
        if (u->mover[i].at.due != now) continue;
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

/* ... where a plan may end. Returns 0 where a core whose unit is fastpath no longer comes first. */
static int act_all(sim *s, fastpath *y, u64 now, u32 below) {
    for (u32 r = 0; r < s->cores && r < below; r++) {
        y->rank = r;
        if (snitch_of(s->by_rank[r])->on_fastpath && !act(s, y, &y->unit[r], now)) return 0;
    }
    return 1;
}

void fastpath_advance(sim *s) {
    fastpath *y = cluster_of(s)->fastpath;
    u64 when;
    u32 actor = queue_first(&s->queue, &when);
    if (when >= s->stop) when = s->stop, actor = 0;
    if (actor > FASTPATH_RANKS) actor = FASTPATH_RANKS;
    while (!make_cycles(y, when)) {
        if (!act_all(s, y, y->now, FASTPATH_RANKS)) return;
        y->now++;
        y->rank = 0;
    }
    if (y->first_end <= when || !make_accesses(y, y->tcdm, when, y->first_of[y->rank], y->first_of[actor]))
        if (!act_all(s, y, when, actor)) return;
    y->rank = actor;
    if (when == s->stop) fastpath_end_all(s, NULL);
}
