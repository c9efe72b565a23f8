/* N-EUREKA: the state that its control and its arithmetic share. */
#ifndef TW_NEUREKA_H
#define TW_NEUREKA_H
#include "engine/sim.h"

/* Sources: [c21] = calibration program that measures it; [S n] = section n of the programmer's model. Numbers are cycles. */
enum {
    NPU_START = 1,           /* [S 7.6] commit to first cycle of the state machine */
    /* cycles of its phases that are no memory access [S 7.6, c21] */
    NPU_LOAD_OVERHEAD = 6, NPU_LOAD_OVERHEAD_1X1 = 6, NPU_PREFETCH_LOAD_BIAS = 3,
    NPU_CONTROL_1X1 = 10, NPU_CONTROL_1X1_PREFETCH = 7, NPU_CONTROL_3X3 = 6, NPU_CONTROL_DEPTHWISE = 34,
    NPU_VECTOR_TAIL_3X3 = 8, NPU_SCALE_TAIL = 9, NPU_BIAS_LOADS = 4, NPU_BIAS_TAIL = 8, NPU_STREAM_IN_TAIL = 10, NPU_OUTPUT_TAIL_1X1 = 3,
};

enum { SIDE = 6, PIXELS = SIDE * SIDE, FIELD = SIDE + 2, LANES = 32, JOB_REGISTERS = 24, WORD_BYTES = 32 };
enum { MODE_3X3, MODE_DEPTHWISE, MODE_1X1 };

/* A job's registers, unpacked. */
typedef struct {
    u32 weights, input, output, scale, shifts, bias;
    u32 in_pixel, in_row, out_pixel, out_row, weight_bit, weight_out;
    u32 rem_ko, rem_ki, rem_ho, rem_wo, rem_hi, rem_wi, n_ko, n_ki, n_ho, n_wo;
    u32 pad_top, pad_left, pad_value, mask, mode, bits, quantise, in_wmem, prefetch, scale_bits, stream_in;
    u32 shift, out_bits, is_signed_out, channel_shift, has_bias, is_signed_in;
    i32 weight_offset;
} neureka_job;

/* Where the state machine is. */
typedef struct {
    neureka_job job;
    u32 ko, ho, wo, ki, phase, step;
    u32 h, w, k, kin, h_in, w_in;   /* of the current tile */
    u32 load_time, vector_time;     /* for prefetch */
    i32 acc[PIXELS][LANES];
    u8 field[FIELD][FIELD][LANES];
    memory *tcdm, *wmem;
    u64 now;
    u64 macs, mac_bits;             /* since the beginning; mac_bits: each counts as often as its weight has bits */
} neureka_engine;

void neureka_unpack(neureka_job *j, const u32 *r);
void neureka_pad(neureka_engine *e);
void neureka_accumulate(neureka_engine *e);
void neureka_quantise(neureka_engine *e);
static inline u32 neureka_out_tile(const neureka_job *j) { return j->mode == MODE_DEPTHWISE ? 28 : 32; }
static inline u32 neureka_in_tile(const neureka_job *j) { return j->mode == MODE_1X1 ? 32 : 28; }
static inline u32 neureka_at(const neureka_engine *e, u32 address) { return address & 0x3ffff & (e->tcdm->size - 1); }
#endif
