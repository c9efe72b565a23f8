/* ITA: the state that its control, its sequencer and its arithmetic share. */
#ifndef TW_ITA_H
#define TW_ITA_H
#include "engine/sim.h"

/* Cycles. [ITA] = read from its RTL; [own] = chosen so that the published utilisation comes out (docs/ita.md) */
enum {
    ITA_START = 1,           /* [own] trigger to first cycle of a job, while nothing runs */
    ITA_COMPUTE = 256,       /* [ITA] 64 rows by 4 groups of 16 columns */
    ITA_JOB_TAIL = 11,       /* [own] of every job, beyond its cycles of computing and of access */
    ITA_LAYER_START = 10,    /* [own] before the first job of a layer */
    ITA_CLEAR = 10,          /* [ITA] from a soft clear until it takes registers */
};

enum { ITA_SIDE = 64, ITA_UNITS = 16, ITA_GROUPS = ITA_SIDE / ITA_UNITS, ITA_ROW = 64, ITA_TILE = ITA_SIDE * ITA_ROW, ITA_GROUP = ITA_UNITS * ITA_ROW };
enum { ITA_BIAS_BYTES = 3 * ITA_SIDE, ITA_PORT = 128 };
enum { ITA_REGISTERS = 17, ITA_STEPS = 8 };
enum { LAYER_ATTENTION, LAYER_FEED_FORWARD, LAYER_LINEAR, LAYER_SINGLE_ATTENTION };
enum { ACTIVATION_IDENTITY, ACTIVATION_GELU, ACTIVATION_RELU };
/* In the order of the requantisation constants; the linear layer uses those of the first step. */
enum { STEP_Q, STEP_K, STEP_V, STEP_QK, STEP_AV, STEP_OW, STEP_F1, STEP_F2, STEP_LINEAR, STEP_IDLE };

/* clip(((multiplier * x + half) >> shift) + add) to 8 bits. */
typedef struct {
    u32 multiplier, shift;
    i32 add;
} ita_scale;

typedef struct {
    u32 kind;
    ita_scale scale;
    i32 b, c;   /* of the polynomial that stands for GELU */
} ita_activation;

/* The softmaxes of the generations: a value is halved for every 2^step_bits below the largest. */
typedef struct {
    u32 step_bits, one, numerator;
} ita_softmax;

typedef struct {
    i32 largest;
    u32 sum, inverse;
} ita_softmax_row;

/* A context's registers, unpacked. */
typedef struct {
    u32 input, weights, next_weights, bias, output;   /* from the start of the memory */
    u32 s, e, p, f;                                   /* tiles of 64 */
    u32 layer, preload, fetch_next, has_bias, bias_per_row, has_output;
    ita_scale scale[ITA_STEPS];
    ita_activation activation;
} ita_job;

/* Which step of a layer the jobs are of. */
typedef struct {
    u32 layer, s, e, p, f;
    u32 step, row_block;   /* row_block: of the attention's matrix */
    u32 inner, left;       /* inner block of the job; jobs of the step that are left, this one included */
} ita_sequencer;

/* A job under way: accesses in their order, and what they have brought. */
typedef struct {
    ita_job job;
    ita_sequencer sequencer;
    u32 phase, group, at, accesses, done;
    u64 began, waited, end, cycles;
    i8 weights[2][ITA_UNITS][ITA_ROW];   /* of this group of columns; of the next one */
    i32 bias[ITA_SIDE];
    i32 sum[ITA_SIDE][ITA_SIDE];
    i8 out[2][ITA_UNITS];
    ita_softmax softmax;
    ita_softmax_row row[ITA_SIDE];
    memory *tcdm;
    u32 bank_bytes;
    u64 macs;
} ita_engine;

/* ita/math.c */
extern const ita_softmax ITAPOOL_SOFTMAX;
ita_softmax ita_softmax_with(u32 step_bits);
i32 ita_requantised(i64 x, const ita_scale *k);
i32 ita_activated(i32 x, const ita_activation *k);
int ita_has_room_for(const ita_activation *k);
void ita_softmax_begin(ita_softmax_row *row);
void ita_softmax_take(const ita_softmax *k, ita_softmax_row *row, const i8 *group);
void ita_softmax_end(const ita_softmax *k, ita_softmax_row *row);
u32 ita_share(const ita_softmax *k, const ita_softmax_row *row, i32 x);
void ita_multiply(const i16 *row, i8 weights[ITA_UNITS][ITA_ROW], i32 *sum);

/* ita/sequencer.c */
void ita_layer_begins(ita_sequencer *q, const ita_job *j);
void ita_job_ends(ita_sequencer *q);
int ita_is_last_inner(const ita_sequencer *q);
int ita_is_first_of_step(const ita_sequencer *q);
int ita_is_first_of_layer(const ita_sequencer *q);

/* ita/engine.c */
void ita_unpack(ita_job *j, const u32 *registers);
u32 ita_accesses(const ita_job *j);
u64 ita_cycles(u32 accesses);
void ita_begin(ita_engine *e, u64 now);
u64 ita_go_on(ita_engine *e, u64 now);
/* ita/ita.c: of the first one, for other parts of a cluster that show them */
u32 ita_busy(const sim *s);
u32 ita_events(const sim *s);
void ita_clear_events(sim *s, u32 bits);
#endif
