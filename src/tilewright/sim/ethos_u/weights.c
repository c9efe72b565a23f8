/* The order of weights in their stream: blocks of result channels, of input channels, parts of the kernel of 8 x 8. */
#include "ethos_u/ethos_u.h"

#include "ethos_u/codes.h"

#define PART 8u

typedef struct {
    npu_decoder *decoder;
    int16_t *weights; /* [result channel][row][column][input channel] */
    uint32_t core, cores, outputs, inputs, height, width;
    uint32_t out_unit, in_unit, is_each;
} order;

typedef struct {
    uint32_t y, x, height, width, elements;
} part;

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

/* `o` counts the channels of one core. */
static void store(const order *t, const part *p, uint32_t element, uint32_t o, uint32_t i) {
    int32_t weight = npu_next_weight(t->decoder);
    uint32_t y = element / p->width, x = element % p->width;
    if (y >= p->height || o >= t->outputs || i >= t->inputs) return;
    uint64_t row = ((uint64_t)(o * t->cores + t->core) * t->height + p->y + y) * t->width + p->x + x;
    t->weights[row * t->inputs + i] = (int16_t)weight;
}

static void read_unit(const order *t, const part *p, uint32_t element, uint32_t o, uint32_t i) {
    for (uint32_t out = 0; out < t->out_unit; out++)
        for (uint32_t in = 0; in < (t->is_each ? 1 : t->in_unit); in++) store(t, p, element, o + out, i + in);
}

/* Channels of the input from `i` on, `inputs` of them, for a block of result channels, for one part of the kernel. */
static void read_part(const order *t, const part *p, uint32_t o, uint32_t outputs, uint32_t i, uint32_t inputs,
                      int parts_first) {
    uint32_t outer = parts_first ? inputs : 1, inner = parts_first ? 1 : inputs;
    for (uint32_t i0 = 0; i0 < outer; i0 += t->in_unit)
        for (uint32_t o0 = 0; o0 < outputs; o0 += t->out_unit)
            for (uint32_t element = 0; element < p->elements; element++)
                for (uint32_t i1 = 0; i1 < inner; i1 += t->in_unit) read_unit(t, p, element, o + o0, i + i0 + i1);
}

static void read_block(const order *t, const npu_op *op, uint32_t o, uint32_t outputs) {
    const npu_kernel *k = &op->kernel;
    int parts_first = (int)k->parts_first && !t->is_each;
    uint32_t depth = parts_first || op->x.bytes > 1 ? 16 : 32, padded = op->x.bytes > 1 ? 2 : 4;
    uint32_t part_height = PART / k->dilation_y, part_width = PART / k->dilation_x;
    for (uint32_t i = 0; i < (t->is_each ? 1 : t->inputs); i += depth) {
        uint32_t inputs = t->is_each ? t->in_unit : parts_first ? smaller(depth, t->inputs - i) : depth;
        for (uint32_t y = 0; y < t->height; y += part_height)
            for (uint32_t x = 0; x < t->width; x += part_width) {
                part p = {y, x, smaller(part_height, t->height - y), smaller(part_width, t->width - x), 0};
                p.elements = p.height * p.width;
                if (parts_first) p.elements = up(p.elements, padded);
                else if (t->is_each) p.elements = up(p.elements, 4);
                read_part(t, &p, o, outputs, i, inputs, parts_first);
            }
    }
}

static void read_core(npu *n, const npu_op *op, order *t) {
    const npu_stream *s = &op->streams[t->core];
    const uint8_t *bytes = npu_bytes_to_read(n, op->weight_region, s->weights, s->weight_bytes);
    uint32_t block = (op->block_depth + t->cores - 1 - t->core) / t->cores;
    if (block == 0) npu_fail(n, NPU_SHAPE, 0);
    t->outputs = (op->y.depth + t->cores - 1 - t->core) / t->cores;
    t->decoder = npu_open_weights(n, bytes, s->weight_bytes);
    n->counts->weight_bytes += s->weight_bytes;
    for (uint32_t o = 0; o < t->outputs; o += block) read_block(t, op, o, smaller(block, t->outputs - o));
}

int16_t *npu_read_weights(npu *n, const npu_op *op) {
    int is_each = op->code == NPU_OP_DEPTHWISE;
    order t = {.cores = op->cores, .height = op->kernel.height, .width = op->kernel.width, .is_each = (uint32_t)is_each,
               .inputs = is_each ? 1 : op->x.depth, .out_unit = n->chip->ofm_unit_depth,
               .in_unit = n->chip->ifm_unit_depth};
    npu_limit(n, op->y.depth, t.height, t.width, t.inputs);
    t.weights = npu_allocate(n, (uint64_t)op->y.depth * t.height * t.width * t.inputs, sizeof *t.weights);
    for (t.core = 0; t.core < op->cores; t.core++)
        if (t.core < op->y.depth) read_core(n, op, &t);
    return t.weights;
}
