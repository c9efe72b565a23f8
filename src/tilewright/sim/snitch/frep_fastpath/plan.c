/* Whether a body is regular, and the plan of a unit that repeats one (fastpath.h). */
#include "snitch/frep_fastpath/fastpath.h"

/* Registers of an instruction as bits. */
static inline u64 operands_of(const fpu_entry *e) {
    return 1ull << (e->registers >> 8 & 63) | 1ull << (e->registers >> 16 & 63) | 1ull << (e->registers >> 24);
}
static inline u64 result_of(const fpu_entry *e) { return 1ull << (e->registers & 63) & ~(1ull << NO_REGISTER); }

/* Is it arithmetic that writes no stream? */
static inline int is_plain(const fpu_entry *e) {
    return e->of.latency == FPU_ARITHMETIC && e->of.interval == 1 && !e->stagger && (e->registers & 63) <= NO_REGISTER;
}

/* Does all of a body, time after time, consist of such arithmetic that needs none of the results before it that are not there yet? */
static int are_free(const snitch *n, u32 body) {
    u64 results[FPU_ARITHMETIC - 1];
    for (u32 i = 0, at = body; i < FPU_ARITHMETIC - 1; i++) {
        at = (at ? at : body) - 1;
        results[i] = result_of(fastpath_entry(n, at));
    }
    for (u32 p = 0; p < body; p++) {
        const fpu_entry *e = fastpath_entry(n, p);
        if (!is_plain(e) || (operands_of(e) & (results[0] | results[1] | results[2]))) return 0;
        results[2] = results[1], results[1] = results[0], results[0] = result_of(e);
    }
    return 1;
}

/* Is a stream, which is read at some positions, read by every so many instructions, or by none? */
static int find_gap(fpu_entry *head, u32 i, u32 positions) {
    const u32 body = head->body, reads = (u32)__builtin_popcount(positions);
    head->gap[i] = 0;
    if (!reads) return 1;
    const u32 gap = body / reads, phase = (u32)__builtin_ctz(positions);
    const u32 turned = (positions >> gap | positions << (body - gap)) & ((1u << body) - 1);
    if (gap * reads != body || phase >= gap || turned != positions) return 0;
    head->gap[i] = (u8)gap, head->phase[i] = (u8)phase;
    return 1;
}

static int find_gaps(const snitch *n, fpu_entry *head) {
    u32 positions[STREAM_MOVERS] = {0};
    for (u32 p = 0; p < head->body; p++)
        for (u32 i = 0; i < STREAM_MOVERS; i++) positions[i] |= (fastpath_entry(n, p)->reads >> i & 1u) << p;
    for (u32 i = 0; i < STREAM_MOVERS; i++)
        if (!find_gap(head, i, positions[i])) return 0;
    return head->gap[0] || head->gap[1] || head->gap[2];
}

static int is_regular(const snitch *n, fpu_entry *head) {
    if (head->regularity == NOT_KNOWN) head->regularity = are_free(n, head->body) && find_gaps(n, head) ? REGULAR : IRREGULAR;
    return head->regularity == REGULAR;
}

/* When the next instruction begins, if an element that is fetched for it does not wait. */
static u64 first_begin(const snitch *n) {
    const fpu_entry *e = fastpath_entry(n, n->position);
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
        const fpu_entry *e = fastpath_entry(n, p);
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

/* Elements that a data mover still has to fetch; more than a plan is long count as many. */
static u64 elements_left(const data_mover *m) {
    u64 left = m->is_running ? m->bound[0] - m->count[0] + 1ull : 0, row = m->bound[0] + 1ull;
    for (u32 i = 1; i < m->loops && m->is_running && left < FASTPATH_LOG; i++) {
        left += (m->bound[i] - m->count[i]) * earlier(row, FASTPATH_LOG);
        row = earlier(row, FASTPATH_LOG) * (m->bound[i] + 1ull);
    }
    return earlier(left, FASTPATH_LOG);
}

/* Its place, if the elements that it has come in time and there is a place for the next ones when they are planned. */
static int place_mover(const core *c, const data_mover *m, u64 first, u64 gap, fastpath_mover *p) {
    const u64 step = p->step, second = first + step - gap * m->delivered; /* uses of the first two elements */
    for (u32 e = 0; e < m->used; e++)
        if (m->ready[(m->head + e) % STREAM_FIFO] > (e ? second + (e - 1) * step : first)) return 0;
    u64 needed = m->used ? second + (m->used - 1) * step : first, opens = second - gap + 1; /* that is after the last use of the first one */
    const u64 due = m->used == STREAM_FIFO ? later(m->next, opens) : m->due;
    if (m->used < STREAM_FIFO) {
        u64 missing = STREAM_FIFO - m->used;
        if (opens < missing * step) return 0;
        opens -= missing * step;
        for (u64 e = 1; e < missing; e++)
            if (opens + e * step > due + e && m->is_running) return 0;
    }
    if (m->is_running && due >= needed) return 0;
    p->at = (mover_place){m->is_running ? due : NEVER, m->next, opens, needed, m->address - c->local_base, m->bound[0] - m->count[0], m->used, 0};
    return 1;
}

/* The plan of a data mover; where it ends, there is no element for the unit any more. */
static int plan_mover(const core *c, const snitch *n, const fpu_entry *head, u32 i, fastpath_unit *u) {
    const data_mover *m = &n->mover[i];
    if (!head->gap[i]) return m->due == NEVER;
    if (m->is_write) return 0;
    fastpath_mover *p = &u->mover[u->movers++];
    p->step = head->gap[i] * (m->repeat + 1ull);
    p->stride = m->stride[0], p->begun = m->used, p->number = i, p->unit = u;
    if (!place_mover(c, m, u->from + first_read(n, head, i), head->gap[i], p)) return 0;
    u->limit = earlier(u->limit, p->at.needed + elements_left(m) * p->step);
    for (u32 e = 0; e < m->used; e++) p->log[e] = m->fifo[(m->head + e) % STREAM_FIFO];
    return 1;
}

/* Instructions up to the body's last time, in which they leave the queue; then those after which the core still waits. */
static u64 count_of(const snitch *n, const fpu_entry *head) {
    const u64 last = n->waits_for_unit != 1 ? 0 : n->used > head->body ? head->body : head->body - 1;
    return (u64)(head->repeats - n->repetition) * head->body - n->position + last;
}

void fastpath_extend(const core *c, fastpath_unit *u) {
    const snitch *n = snitch_of(c);
    u->until = earlier(u->limit, u->from + count_of(n, &n->queue[n->first]));
}

int fastpath_plan(fastpath *y, core *c) {
    snitch *n = snitch_of(c);
    fastpath_unit *u = &y->unit[c->rank];
    fpu_entry *head = &n->queue[n->first];
    if (n->repetition >= head->repeats || n->used < head->body || n->used < n->waits_for_unit) return 0;
    if (count_of(n, head) < FASTPATH_LEAST || !is_regular(n, head)) return 0;
    u64 from = first_begin(n);
    if (from == NEVER || from > y->now + FASTPATH_LEAST || !is_ready(n, head->body, from)) return 0;
    u->from = from, u->limit = y->now + FASTPATH_LONGEST, u->movers = 0;
    for (u32 i = 0; i < STREAM_MOVERS; i++)
        if (!plan_mover(c, n, head, i, u)) return 0;
    fastpath_extend(c, u);
    return u->until >= from + FASTPATH_LEAST;
}
