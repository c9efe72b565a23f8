/* Registers as the fields of an operation; values that are reserved, and registers that were never set, are faults. */
#include "ethos_u/ethos_u.h"

#include "ethos_u/codes.h"

#define HAS_PAYLOAD 0x4000u /* in the word of a command, and of faults */

uint32_t npu_parameter(npu *n, uint32_t code) {
    n->fault->code = code;
    if (!n->has_parameter[code]) npu_fail(n, NPU_UNSET, 0);
    return n->parameters[code];
}

uint64_t npu_payload(npu *n, uint32_t code) {
    n->fault->code = code | HAS_PAYLOAD;
    if (!n->has_payload[code]) npu_fail(n, NPU_UNSET, 0);
    return n->payloads[code];
}

static uint32_t one_of(npu *n, uint32_t code, uint32_t value, uint32_t allowed) {
    if (!(allowed >> value & 1)) npu_fail(n, NPU_RESERVED, n->parameters[code]);
    return value;
}

static int32_t with_sign(uint32_t value, int is_signed) { return is_signed ? (int16_t)value : (int32_t)value; }

typedef struct {
    uint32_t region, precision, zero, width0, height0, height1, base, stride_x, stride_y, stride_c, size_at, sizes;
} map_registers;

#define REGISTERS(map, at, allowed) \
    {NPU_SET_##map##_REGION, NPU_SET_##map##_PRECISION, NPU_SET_##map##_ZERO_POINT, NPU_SET_##map##_WIDTH0_M1, \
     NPU_SET_##map##_HEIGHT0_M1, NPU_SET_##map##_HEIGHT1_M1, NPU_SET_##map##_BASE0, NPU_SET_##map##_STRIDE_X, \
     NPU_SET_##map##_STRIDE_Y, NPU_SET_##map##_STRIDE_C, at, allowed}
#define INPUT_PRECISIONS 0x233u /* u8, s8, u16, s16, s32 */
#define OUTPUT_PRECISIONS 0x2fu

static const map_registers OF_MAP[3] = {
    REGISTERS(IFM, 2, INPUT_PRECISIONS), REGISTERS(IFM2, 2, INPUT_PRECISIONS), REGISTERS(OFM, 1, OUTPUT_PRECISIONS)};

/* What is known of a map without its tiles: also of a scalar. */
static void read_elements(npu *n, npu_map *m, const map_registers *r) {
    uint32_t word = npu_parameter(n, r->precision);
    uint32_t kind = one_of(n, r->precision, word & (r->size_at == 2 ? 15 : 7), r->sizes);
    m->is_signed = kind & 1;
    m->bytes = 1u << (kind >> r->size_at);
    m->is_bricked = (int32_t)one_of(n, r->precision, word >> 6 & 3, 3);
    m->zero = with_sign(npu_parameter(n, r->zero), m->is_signed);
}

static void check_alignment(npu *n, const npu_map *m, uint32_t code, uint64_t value) {
    n->fault->code = code | HAS_PAYLOAD;
    if (value % (m->is_bricked ? 16 : m->bytes)) npu_fail(n, NPU_ALIGNMENT, (int64_t)value);
}

static void read_tiles(npu *n, npu_map *m, const map_registers *r) {
    m->region = npu_parameter(n, r->region);
    m->width0 = npu_parameter(n, r->width0) + 1;
    m->height0 = npu_parameter(n, r->height0) + 1;
    m->height1 = npu_parameter(n, r->height1) + 1;
    for (uint32_t k = 0; k < 4; k++) check_alignment(n, m, r->base + k, m->base[k] = npu_payload(n, r->base + k));
    check_alignment(n, m, r->stride_y, m->stride_y = npu_payload(n, r->stride_y));
    if (m->is_bricked) check_alignment(n, m, r->stride_c, m->stride_c = npu_payload(n, r->stride_c));
    else check_alignment(n, m, r->stride_x, m->stride_x = npu_payload(n, r->stride_x));
}

static void read_map(npu *n, npu_map *m, int which) {
    read_elements(n, m, &OF_MAP[which]);
    read_tiles(n, m, &OF_MAP[which]);
}

static void read_result(npu *n, npu_op *op) {
    read_map(n, &op->y, NPU_IS_OFM);
    op->y.height = npu_parameter(n, NPU_SET_OFM_HEIGHT_M1) + 1;
    op->y.width = npu_parameter(n, NPU_SET_OFM_WIDTH_M1) + 1;
    op->y.depth = npu_parameter(n, NPU_SET_OFM_DEPTH_M1) + 1;
    op->block_depth = npu_parameter(n, NPU_SET_OFM_BLK_DEPTH_M1) + 1;
}

static void read_kernel(npu *n, npu_op *op) {
    uint32_t word = npu_parameter(n, NPU_SET_KERNEL_STRIDE);
    npu_kernel *k = &op->kernel;
    k->stride_x = 1 + (word & 1) + (word >> 6 & 7) * 2;
    k->stride_y = 1 + (word >> 1 & 1) + (word >> 9 & 7) * 2;
    k->parts_first = word >> 2 & 1;
    k->dilation_x = 1 + (word >> 3 & 1);
    k->dilation_y = 1 + (word >> 4 & 1);
    k->height = npu_parameter(n, NPU_SET_KERNEL_HEIGHT_M1) / k->dilation_y + 1;
    k->width = npu_parameter(n, NPU_SET_KERNEL_WIDTH_M1) / k->dilation_x + 1;
    op->pad_top = npu_parameter(n, NPU_SET_IFM_PAD_TOP);
    op->pad_left = npu_parameter(n, NPU_SET_IFM_PAD_LEFT);
    op->pad_right = npu_parameter(n, NPU_SET_IFM_PAD_RIGHT);
    op->pad_bottom = npu_parameter(n, NPU_SET_IFM_PAD_BOTTOM);
}

#define CLIPS 0x2du     /* as the result, u8, s8, s16 */
#define FUNCTIONS_AT 16 /* the first of 8 tables */

static void read_function(npu *n, npu_op *op) {
    npu_finish *f = &op->finish;
    uint32_t word = npu_parameter(n, NPU_SET_ACTIVATION);
    f->function = word & 0xfff;
    f->clip = one_of(n, NPU_SET_ACTIVATION, word >> 12 & 7, CLIPS);
    if (f->function != 0 && f->function != 3 && f->function != 4 && f->function < FUNCTIONS_AT)
        npu_fail(n, NPU_RESERVED, word);
    if (f->function >= FUNCTIONS_AT + 8) npu_fail(n, NPU_RESERVED, word);
    f->least = with_sign(npu_parameter(n, NPU_SET_ACTIVATION_MIN), 1);
    f->most = with_sign(npu_parameter(n, NPU_SET_ACTIVATION_MAX), 1);
}

static uint32_t shift_of(npu *n, uint32_t code) {
    uint64_t word = npu_payload(n, code);
    if (word >> 38) npu_fail(n, NPU_RESERVED, (int64_t)(word >> 32));
    return (uint32_t)(word >> 32);
}

static void read_finish(npu *n, npu_op *op) {
    uint32_t word = npu_parameter(n, NPU_SET_OFM_PRECISION);
    op->finish.rounding = one_of(n, NPU_SET_OFM_PRECISION, word >> 14, 7);
    op->finish.is_global = word >> 8 & 1;
    if (op->finish.is_global) {
        op->finish.shift = shift_of(n, NPU_SET_OFM_SCALE);
        op->finish.scale = (uint32_t)npu_payload(n, NPU_SET_OFM_SCALE);
    }
    read_function(n, op);
}

static void read_stream(npu *n, npu_stream *s, uint32_t weights, uint32_t scales) {
    s->weights = npu_payload(n, weights);
    s->weight_bytes = npu_payload(n, weights + 1);
    s->scales = npu_payload(n, scales);
    s->scale_bytes = npu_payload(n, scales + 1);
    if (s->weights % 16 || s->weight_bytes % 16) npu_fail(n, NPU_ALIGNMENT, (int64_t)s->weights);
}

static void read_weights(npu *n, npu_op *op) {
    op->weight_region = npu_parameter(n, NPU_SET_WEIGHT_REGION);
    op->scale_region = npu_parameter(n, NPU_SET_SCALE_REGION);
    read_stream(n, &op->streams[0], NPU_SET_WEIGHT_BASE, NPU_SET_SCALE_BASE);
    if (op->cores > 1 && op->y.depth > 1) read_stream(n, &op->streams[1], NPU_SET_WEIGHT1_BASE, NPU_SET_SCALE1_BASE);
}

static void read_second(npu *n, npu_op *op) {
    uint32_t word = npu_parameter(n, NPU_SET_IFM2_BROADCAST);
    op->broadcast = word;
    read_elements(n, &op->x2, &OF_MAP[NPU_IS_IFM2]);
    if (word >> 7 & 1) {
        op->scalar = with_sign(npu_parameter(n, NPU_SET_IFM2_SCALAR), op->x2.is_signed) - op->x2.zero;
        return;
    }
    read_tiles(n, &op->x2, &OF_MAP[NPU_IS_IFM2]);
    op->x2.height = word & 1 ? 1 : op->y.height;
    op->x2.width = word >> 1 & 1 ? 1 : op->y.width;
    op->x2.depth = word >> 2 & 1 ? 1 : op->y.depth;
}

enum { MUL, ADD, SUB, LRELU = 5, CLZ = 7 };

static void read_operands(npu *n, npu_op *op) {
    uint32_t word = n->parameters[NPU_SET_IFM_PRECISION];
    op->x.height = op->y.height, op->x.width = op->y.width, op->x.depth = op->y.depth;
    op->scale_mode = one_of(n, NPU_SET_IFM_PRECISION, word >> 8 & 3, 7);
    if (op->mode < LRELU || op->mode > CLZ) read_second(n, op);
    if (op->mode != ADD && op->mode != SUB) return;
    op->a_shift = shift_of(n, NPU_SET_OPA_SCALE);
    op->a_scale = (uint32_t)npu_payload(n, NPU_SET_OPA_SCALE);
    op->b_scale = (uint32_t)npu_payload(n, NPU_SET_OPB_SCALE);
}

static uint32_t cores_of(npu *n) {
    if (n->chip->cores == 1) return 1;
    uint32_t last = npu_parameter(n, NPU_SET_PARALLEL_MODE);
    return one_of(n, NPU_SET_PARALLEL_MODE, last, (1u << n->chip->cores) - 1) + 1;
}

void npu_read_op(npu *n, npu_op *op, uint32_t code, uint32_t mode) {
    *op = (npu_op){.code = code, .mode = mode, .cores = cores_of(n)};
    read_map(n, &op->x, NPU_IS_IFM);
    read_result(n, op);
    read_finish(n, op);
    op->upscale = one_of(n, NPU_SET_IFM_UPSCALE, npu_parameter(n, NPU_SET_IFM_UPSCALE), 7);
    if (code == NPU_OP_ELEMENTWISE) read_operands(n, op);
    else read_kernel(n, op);
    if (code == NPU_OP_CONV || code == NPU_OP_DEPTHWISE) read_weights(n, op);
    if (code == NPU_OP_DEPTHWISE || code == NPU_OP_POOL) op->x.depth = op->y.depth;
    if (code == NPU_OP_CONV || (code == NPU_OP_POOL && mode == 2))
        op->x.depth = npu_parameter(n, NPU_SET_IFM_DEPTH_M1) + 1;
    n->fault->code = code;
}
