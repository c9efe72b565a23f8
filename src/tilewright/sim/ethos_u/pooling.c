/* Largest elements, means and sums over channels. */
#include "ethos_u/ethos_u.h"

enum { LARGEST, MEAN, SUM_OF_CHANNELS };

typedef struct {
    const npu_op *op;
    npu_input input;
    npu_function function;
} task;

typedef struct {
    int64_t sum;
    int32_t largest;
    uint32_t count;
} window;

static void take(window *w, int32_t value) {
    if (w->count++ == 0 || value > w->largest) w->largest = value;
    w->sum += value;
}

static void take_pixel(const task *t, window *w, const int32_t *pixel, uint32_t channel) {
    if (t->op->mode != SUM_OF_CHANNELS) take(w, pixel ? pixel[channel] : 0);
    else
        for (uint32_t c = 0; pixel && c < t->input.depth; c++) take(w, pixel[c]);
}

/* Elements of the padding are not counted. */
static window window_at(const task *t, uint32_t y, uint32_t x, uint32_t channel) {
    const npu_kernel *k = &t->op->kernel;
    window w = {0, 0, 0};
    for (uint32_t ky = 0; ky < k->height; ky++)
        for (uint32_t kx = 0; kx < k->width; kx++) {
            int is_padding;
            int64_t row = (int64_t)y * k->stride_y + ky * k->dilation_y - t->op->pad_top;
            int64_t column = (int64_t)x * k->stride_x + kx * k->dilation_x - t->op->pad_left;
            const int32_t *pixel = npu_pixel(&t->input, row, column, &is_padding);
            if (!is_padding) take_pixel(t, &w, pixel, channel);
        }
    return w;
}

static int is_padded(const npu_op *op) { return op->pad_top || op->pad_left || op->pad_right || op->pad_bottom; }

/* A mean of windows that padding cuts is divided by what they have left, whatever the scale. */
static int64_t value_of(const npu_op *op, const window *w) {
    const npu_finish *f = &op->finish;
    if (w->count == 0) return 0;
    if (op->mode == LARGEST) return w->largest;
    if (op->mode == MEAN && is_padded(op)) return npu_divided(w->sum, w->count, NPU_TFL);
    return f->is_global ? npu_scaled(w->sum, f->scale, f->shift, f->rounding) : w->sum;
}

void npu_pool(npu *n, npu_op *op) {
    const npu_map *m = &op->y;
    uint32_t depth = op->mode == SUM_OF_CHANNELS ? op->x.depth : 1;
    npu_limit(n, (uint64_t)m->height * m->width, m->depth, (uint64_t)op->kernel.height * op->kernel.width, depth);
    task t = {op, npu_read_input(n, op), npu_open_function(n, op)};
    int32_t *results = npu_allocate(n, (uint64_t)m->height * m->width * m->depth, sizeof *results), *next = results;
    for (uint32_t y = 0; y < m->height; y++)
        for (uint32_t x = 0; x < m->width; x++)
            for (uint32_t c = 0; c < m->depth; c++) {
                window w = window_at(&t, y, x, c);
                *next++ = npu_finished(op, &t.function, value_of(op, &w));
            }
    npu_scatter(n, op, results);
}
