/* Bodies of frep whose instructions begin one each cycle, with operands from streams. While a unit is at such a body, all that others can
 * see of it are the accesses of its data movers. Those are made here, for all such units together, in the order of cycles and cores; what
 * the unit computes is made up for when that ends. Its core goes on meanwhile, and waits as long as it needs the unit.
 *
 * Instruction k is planned for cycle `from` + k. A stream is read at regular distances, so it is known when each of its elements is needed
 * and when its place in the FIFO is free again. An element that comes later than it is needed ends the plan. */
#ifndef TW_FREP_FASTPATH_H
#define TW_FREP_FASTPATH_H
#include "snitch/ssr.h"

enum { NOT_KNOWN, REGULAR, IRREGULAR };
enum { FASTPATH_UNITS = 16, FASTPATH_RANKS = FASTPATH_UNITS - 1, FASTPATH_LOG = 256, FASTPATH_LONGEST = FASTPATH_LOG - 2 * STREAM_FIFO, FASTPATH_LEAST = 8 };

struct fastpath_unit;
/* Where a data mover is. */
typedef struct {
    u64 due, ready;              /* its next access; when the element of the last one is there */
    u64 opens, needed;           /* when there is a place for the next element; when that is needed */
    u32 offset, left, logged;    /* in TCDM; elements of the row beyond the next one; elements that are there, from the present one on */
    u32 pad;
} mover_place;

/* A data mover that feeds such a body. */
typedef struct {
    mover_place at;
    u64 step;                    /* cycles from element to element */
    u32 stride, begun;           /* begun: elements that were there first */
    u32 number, index;           /* which data mover; which of all that are here */
    struct fastpath_unit *unit;
    u64 log[FASTPATH_LOG];
} fastpath_mover;

typedef struct fastpath_unit {
    core *c;
    u64 from, until;             /* cycles of the first instruction and after the last one */
    u64 limit;                   /* up to here it could go on if there were more instructions */
    u32 movers, pad;
    fastpath_mover mover[STREAM_MOVERS];
} fastpath_unit;

typedef struct { const u8 *data; u64 *free; u32 size, shift, mask; } banks; /* free: from when on, per bank */

typedef struct fastpath {
    u32 movers, pad;
    u64 now, first_end;          /* accesses before this cycle are made; when the first plan ends */
    u64 conflict_free_from;              /* from when on it is worth a try to make many cycles at once */
    u32 conflict_free_pause;             /* for how long it is not, after the next time that it fails */
    u32 rank;                    /* in the present cycle those of cores of lower rank are made, too */
    banks tcdm;
    u64 due[FASTPATH_UNITS * STREAM_MOVERS];             /* of each of these: */
    fastpath_mover *mover[FASTPATH_UNITS * STREAM_MOVERS]; /* by rank */
    u8 first_of[FASTPATH_UNITS];                         /* the first of those of each rank, or of higher ones */
    fastpath_unit *active[FASTPATH_UNITS];                 /* by rank, too */
    fastpath_unit unit[FASTPATH_UNITS];                    /* of each rank */
} fastpath;

/* Where a body is being repeated: */
static inline int fastpath_may_begin(const snitch *n) {
    const fpu_entry *head = &n->queue[n->first];
    return n->streams_on && head->repeats > n->repetition && n->used && head->regularity != IRREGULAR && !n->on_fastpath;
}
/* Is the unit of a core, whose turn it is, fastpath from now on? If the core waits for it, it is not in the queue until that ends. */
int fastpath_begin(sim *s, core *c);
/* A core begins to wait for its unit, which is fastpath. */
void fastpath_wait(sim *s, core *c);
/* Makes the accesses that come before the first actor of the queue; there may be another one then. */
void fastpath_advance(sim *s);
/* Ends all plans: units and data movers are where they are in the present cycle. `running`: a core that is not in the queue, or NULL. */
void fastpath_end_all(sim *s, const core *running);

/* Instructions of a body. */
static inline const fpu_entry *fastpath_entry(const snitch *n, u32 position) { return &n->queue[(n->first + position) % FPU_QUEUE]; }
/* Beyond a row. */
static inline void fastpath_next_row(fastpath_mover *p, const core *c) {
    data_mover *m = &snitch_of(c)->mover[p->number];
    m->address = p->at.offset + c->local_base;
    mover_next_row(m);
    p->at.offset = m->address - c->local_base, p->at.left = m->bound[0];
    if (!m->is_running) p->at.due = NEVER;
}

/* snitch/frep_fastpath/plan.c: is there a plan for the unit from now on? It is in the place of the core's rank. */
int fastpath_plan(fastpath *y, core *c);
/* ... and for its last instructions, which leave the queue, where the core waits for them. */
void fastpath_extend(const core *c, fastpath_unit *u);
/* snitch/frep_fastpath/conflict_free.c: makes whole cycles up to some end, as long as no data mover is held up. */
void fastpath_conflict_free(fastpath *y, u64 end);
/* snitch/frep_fastpath/compute.c: instructions of a body from the present position on. Elements: where each stream is in its log. */
typedef struct { const u64 *element; u32 delivered, repeat; } delivery;
void fastpath_compute(core *c, snitch *n, u32 body, u64 count, delivery *d);
#endif
