/* Cycles in which no data mover is held up, many at once (fastpath.h).
 *
 * An access that finds its bank free, or waits for one cycle, does not change when the next one of its data mover is due (STREAM_HIDDEN_WAIT).
 * So as long as all accesses are like that it is known when each of them is made, and they need not be made in the order of cycles: the walk
 * of each data mover is noted by itself, as bits of banks by cycles. Afterwards it is looked whether no access did wait longer. If one did,
 * all walk again, up to its cycle. */
#include "snitch/frep_fastpath/fastpath.h"

_Static_assert(STREAM_HIDDEN_WAIT == 1, "a bit per bank says whether it is busy for one more cycle");
enum { QUIET_MOST = FASTPATH_LOG, QUIET_LEAST = 8, QUIET_PAUSE_LEAST = 1, QUIET_PAUSE_MOST = 64, QUIET_BANKS = 64 };

/* Banks that are accessed in a cycle: those once at least, those twice. */
typedef struct { u64 once, twice; } use_of_banks;

/* What a walk changes, to be put back. */
typedef struct { mover_place at; u32 count[STREAM_LOOPS], is_running, pad; u64 port_free; } before;

typedef struct { u64 from, end; use_of_banks *use; banks tcdm; } stretch;

static int is_inside(const banks at, const fastpath_mover *p) {
    const i64 first = p->at.offset, last = first + (i64)(i32)p->stride * p->at.left, most = (i64)at.size - STREAM_ELEMENT;
    return first <= most && last >= 0 && last <= most;
}

/* Some accesses of a row at even distances. Returns the cycle of the first that is the third to its bank, or the end. */
static u64 walk_evenly(const stretch *w, const fastpath_mover *p, u64 first, u32 offset, u32 count, u64 distance, u64 *to) {
    const banks at = w->tcdm;
    const u32 stride = p->stride;
    use_of_banks *use = &w->use[first - w->from];
    u64 crowded = w->end;
    for (u32 k = 0; k < count; k++, use += distance, offset += stride) {
        const u64 bank = 1ull << (offset >> at.shift & at.mask), once = use->once, twice = use->twice;
        memcpy(&to[k], at.data + offset, STREAM_ELEMENT);
        if (UNLIKELY(twice & bank)) crowded = earlier(crowded, first + k * distance);
        use->once = once | bank, use->twice = twice | (once & bank);
    }
    return crowded;
}

/* How many accesses follow each other at once, until there is no place for more; 0 if each one waits for its place. The very first
 * one may have found its place early. */
static u64 count_at_once(const mover_place *at, u64 step) {
    if (at->due < at->opens) return 1;
    return step == 1 ? NEVER : (at->due - at->opens + step - 2) / (step - 1);
}

/* Accesses of a row before the end, as long as they have even distances. Returns the cycle of the first that may be held up, or the end. */
static u64 walk_row(const stretch *w, fastpath_mover *p) {
    mover_place *at = &p->at;
    const u64 at_once = count_at_once(at, p->step), distance = at_once ? 1 : p->step;
    const u64 most = earlier(at->left + 1ull, distance == 1 ? w->end - at->due : (w->end - at->due + distance - 1) / distance);
    const u32 count = (u32)(at_once ? earlier(most, at_once) : most);
    const u64 crowded = walk_evenly(w, p, at->due, at->offset, count, distance, &p->log[at->logged]);
    at->logged += count;
    at->ready = at->due + (count - 1) * distance + 1;
    at->opens += count * p->step;
    at->needed += count * p->step;
    at->due = later(at->ready, at->opens);
    at->offset += count * p->stride;
    if (count <= at->left) {
        at->left -= count;
        return crowded;
    }
    at->offset -= p->stride;
    fastpath_next_row(p, p->unit->c);
    return crowded;
}

/* ... of a data mover. Returns the cycle of the first that may be held up, or the end. */
static u64 walk(const stretch *w, fastpath_mover *p) {
    u64 until = w->end;
    snitch *n = snitch_of(p->unit->c);
    if (p->at.due >= w->end) return until;
    if (p->at.due >= p->at.needed || p->at.opens >= p->at.needed || (!p->number && n->port_free > p->at.due)) return p->at.due;
    while (p->at.due < w->end) {
        if (!is_inside(w->tcdm, p)) return earlier(until, p->at.due);
        until = earlier(until, walk_row(w, p));
    }
    if (!p->number) n->port_free = p->at.ready;
    return until;
}

/* Banks that are still busy in the first cycle; 0 if one is for longer. */
static int find_busy(const stretch *w, u64 *busy) {
    *busy = 0;
    for (u32 b = 0; b <= w->tcdm.mask; b++) {
        const u64 wait = excess(w->tcdm.free[b], w->from);
        if (wait > STREAM_HIDDEN_WAIT) return 0;
        *busy |= wait << b;
    }
    return 1;
}

/* The first cycle in which an access waits longer than is hidden, or the end; the banks that are busy in it. */
static u64 first_held_up(const stretch *w, u64 *busy) {
    for (u64 t = w->from; t < w->end; t++) {
        const use_of_banks use = w->use[t - w->from];
        if (*busy & use.twice) return t;
        *busy = (*busy & use.once) | use.twice;
    }
    return w->end;
}

static void save(const fastpath *y, before *b) {
    for (u32 i = 0; i < y->movers; i++) {
        const snitch *n = snitch_of(y->mover[i]->unit->c);
        const data_mover *m = &n->mover[y->mover[i]->number];
        b[i] = (before){.at = y->mover[i]->at, .is_running = m->is_running, .port_free = n->port_free};
        memcpy(b[i].count, m->count, sizeof m->count);
    }
}

static void put_back(const fastpath *y, const before *b) {
    for (u32 i = 0; i < y->movers; i++) {
        snitch *n = snitch_of(y->mover[i]->unit->c);
        data_mover *m = &n->mover[y->mover[i]->number];
        y->mover[i]->at = b[i].at;
        m->is_running = b[i].is_running;
        memcpy(m->count, b[i].count, sizeof m->count);
        if (!y->mover[i]->number) n->port_free = b[i].port_free;
    }
}

/* Returns up to where it is free of conflicts; if that is the end of the stretch, all is as it is then. */
static u64 walk_all(fastpath *y, stretch *w, u64 busy) {
    const u64 end = w->end;
    memset(w->use, 0, (end - w->from) * sizeof *w->use);
    for (u32 i = 0; i < y->movers; i++) w->end = earlier(w->end, walk(w, y->mover[i]));
    const u64 conflict_free = first_held_up(w, &busy);
    if (conflict_free < end) return conflict_free;
    for (; busy; busy &= busy - 1) w->tcdm.free[__builtin_ctzll(busy)] = end + 1;
    for (u32 i = 0; i < y->movers; i++) y->due[i] = y->mover[i]->at.due;
    return conflict_free;
}

/* Returns 1 if that is up to the end. */
static int go_on(fastpath *y, stretch *w) {
    before b[FASTPATH_UNITS * STREAM_MOVERS];
    const u64 wanted = w->end;
    u64 busy;
    if (!find_busy(w, &busy)) return 0;
    save(y, b);
    u64 conflict_free = walk_all(y, w, busy);
    if (conflict_free < wanted) {
        put_back(y, b);
        w->end = conflict_free;
        if (conflict_free > w->from) walk_all(y, w, busy);
    }
    y->now = conflict_free;
    return conflict_free == wanted;
}

/* Where there are conflicts, it is not tried again at once. */
void fastpath_conflict_free(fastpath *y, u64 end) {
    use_of_banks use[QUIET_MOST];
    stretch w = {y->now, earlier(end, y->now + QUIET_MOST), use, y->tcdm};
    if (end < y->now + QUIET_LEAST || w.tcdm.mask >= QUIET_BANKS) return;
    if (go_on(y, &w)) {
        y->conflict_free_pause = QUIET_PAUSE_LEAST;
        return;
    }
    y->conflict_free_from = y->now + y->conflict_free_pause;
    y->conflict_free_pause = y->conflict_free_pause < QUIET_PAUSE_MOST ? y->conflict_free_pause * 2 : QUIET_PAUSE_MOST;
}
