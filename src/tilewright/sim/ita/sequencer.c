/* ITA's sequencer: it counts jobs, and so knows which step of a layer each is of. */
#include "ita/ita.h"

static u32 inner_blocks(const ita_sequencer *q) {
    switch (q->step) {
    case STEP_QK:
    case STEP_OW: return q->p;
    case STEP_AV: return q->s;
    case STEP_F2: return q->f;
    default: return q->e;
    }
}

/* QK and AV: of one block of rows. */
static u32 jobs_of_step(const ita_sequencer *q) {
    switch (q->step) {
    case STEP_QK:
    case STEP_AV: return q->s * q->p;
    case STEP_F1:
    case STEP_F2: return q->s * q->e * q->f;
    default: return q->s * q->e * q->p;
    }
}

static void enter(ita_sequencer *q, u32 step) {
    q->step = step;
    q->inner = 0;
    q->left = step == STEP_IDLE ? 0 : jobs_of_step(q);
}

static u32 at_least_one(u32 tiles) { return tiles ? tiles : 1; }

static u32 first_step(u32 layer) {
    static const u32 FIRST[] = {STEP_Q, STEP_F1, STEP_LINEAR, STEP_QK};
    return FIRST[layer];
}

void ita_layer_begins(ita_sequencer *q, const ita_job *j) {
    *q = (ita_sequencer){.layer = j->layer,
                         .s = at_least_one(j->s), .e = at_least_one(j->e), .p = at_least_one(j->p), .f = at_least_one(j->f)};
    enter(q, first_step(j->layer));
}

static u32 after_values(ita_sequencer *q) {
    if (++q->row_block < q->s) return STEP_QK;
    return q->layer == LAYER_ATTENTION ? STEP_OW : STEP_IDLE;
}

static u32 following(ita_sequencer *q) {
    switch (q->step) {
    case STEP_Q:
    case STEP_K:
    case STEP_V:
    case STEP_QK:
    case STEP_F1: return q->step + 1;
    case STEP_AV: return after_values(q);
    default: return STEP_IDLE;
    }
}

void ita_job_ends(ita_sequencer *q) {
    q->inner = ita_is_last_inner(q) ? 0 : q->inner + 1;
    if (--q->left == 0) enter(q, following(q));
}

int ita_is_last_inner(const ita_sequencer *q) { return q->inner + 1 == inner_blocks(q); }

int ita_is_first_of_step(const ita_sequencer *q) { return q->left == jobs_of_step(q); }

int ita_is_first_of_layer(const ita_sequencer *q) {
    return q->step == first_step(q->layer) && q->row_block == 0 && ita_is_first_of_step(q);
}
