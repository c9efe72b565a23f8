/* Convolutions: sums of 40 bits and more, a bias and a scale for each channel. */
#include "ethos_u/ethos_u.h"

typedef struct {
    npu *n;
    const npu_op *op;
    npu_input input;
    const int16_t *weights;
    const npu_channel *channels;
    npu_function function;
    int32_t *results;
    int64_t *sums; /* of one pixel */
} task;

static task open_task(npu *n, npu_op *op, uint32_t depth) {
    const npu_map *y = &op->y;
    npu_limit(n, (uint64_t)y->height * y->width, y->depth, (uint64_t)op->kernel.height * op->kernel.width, depth);
    task t = {.n = n, .op = op, .input = npu_read_input(n, op), .weights = npu_read_weights(n, op)};
    t.channels = npu_read_scales(n, op);
    t.function = npu_open_function(n, op);
    t.results = npu_allocate(n, (uint64_t)y->height * y->width * y->depth, sizeof *t.results);
    t.sums = npu_allocate(n, y->depth, sizeof *t.sums);
    n->counts->macs += (uint64_t)y->height * y->width * y->depth * op->kernel.height * op->kernel.width * depth;
    return t;
}

/* Adds what one tap of the window gives to the sums of a pixel. */
typedef void tap_function(task *t, uint32_t tap, const int32_t *pixel);

static void add_dense(task *t, uint32_t tap, const int32_t *pixel) {
    uint32_t depth = t->input.depth, taps = t->op->kernel.height * t->op->kernel.width;
    for (uint32_t o = 0; o < t->op->y.depth; o++) {
        const int16_t *w = t->weights + ((uint64_t)o * taps + tap) * depth;
        int64_t sum = 0;
        for (uint32_t i = 0; i < depth; i++) sum += (int64_t)pixel[i] * w[i];
        t->sums[o] += sum;
    }
}

static void add_each(task *t, uint32_t tap, const int32_t *pixel) {
    uint32_t taps = t->op->kernel.height * t->op->kernel.width;
    for (uint32_t o = 0; o < t->op->y.depth; o++)
        t->sums[o] += (int64_t)pixel[o] * t->weights[(uint64_t)o * taps + tap];
}

static void sum_window(task *t, uint32_t y, uint32_t x, tap_function *add) {
    const npu_kernel *k = &t->op->kernel;
    for (uint32_t o = 0; o < t->op->y.depth; o++) t->sums[o] = t->channels[o].bias;
    for (uint32_t ky = 0; ky < k->height; ky++)
        for (uint32_t kx = 0; kx < k->width; kx++) {
            int is_padding;
            int64_t row = (int64_t)y * k->stride_y + ky * k->dilation_y - t->op->pad_top;
            int64_t column = (int64_t)x * k->stride_x + kx * k->dilation_x - t->op->pad_left;
            const int32_t *pixel = npu_pixel(&t->input, row, column, &is_padding);
            if (pixel) add(t, ky * k->width + kx, pixel);
        }
}

static void finish_pixel(const task *t, int32_t *results) {
    const npu_finish *f = &t->op->finish;
    for (uint32_t o = 0; o < t->op->y.depth; o++) {
        uint32_t scale = f->is_global ? f->scale : t->channels[o].scale;
        uint32_t shift = f->is_global ? f->shift : t->channels[o].shift;
        results[o] = npu_finished(t->op, &t->function, npu_scaled(t->sums[o], scale, shift, f->rounding));
    }
}

static void run(task *t, tap_function *add) {
    const npu_map *m = &t->op->y;
    int32_t *results = t->results;
    for (uint32_t y = 0; y < m->height; y++)
        for (uint32_t x = 0; x < m->width; x++, results += m->depth) {
            sum_window(t, y, x, add);
            finish_pixel(t, results);
        }
    npu_scatter(t->n, t->op, t->results);
}

void npu_convolve(npu *n, npu_op *op) {
    task t = open_task(n, op, op->x.depth);
    run(&t, add_dense);
}

void npu_convolve_depthwise(npu *n, npu_op *op) {
    task t = open_task(n, op, 1);
    run(&t, add_each);
}
