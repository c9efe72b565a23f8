/* The model of a declared crossbar accelerator: what cells.py says, to the bit. A job is a convolution whose weights are in
 * crossbars; its totals go to memory as int32. crossbar_device.h is generated: registers and what starts a job. */
#include "crossbar_device.h"

enum { ONE = 256, SIGNS = 2, MIDDLE = 8 * 255 / 2 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return b ? (a + b - 1) / b : 0; }

/* A product of sizes that are not negative, or something larger than a memory. */
static int64_t times(int64_t a, int64_t b) {
    if (a <= 0 || b <= 0) return 0;
    return a > UINT32_MAX / b ? (int64_t)UINT32_MAX + 1 : a * b;
}

/* As the declaration has it. */
static uint64_t cycles(const registers *r) {
    return ceil_div(r->vectors, r->copies) * r->phases * r->read_cycles + (uint64_t)r->written * r->write_cycles;
}

/* ---- chance ---- */

#define FACTOR 0x9E3779B97F4A7C15u

static uint64_t mixed(uint64_t z) {
    z += FACTOR;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static int64_t byte_sum(uint64_t random) {
    int64_t sum = -MIDDLE;
    for (int byte = 0; byte < 8; byte++) sum += (int64_t)(random >> 8 * byte & 255);
    return sum;
}

/* ---- cells ---- */

/* Sizes of a layer in crossbars. */
typedef struct {
    int64_t length, filters, slices, per_crossbar, across, lanes; /* lanes: columns of all filters */
} shape;

static shape shape_of(const registers *r) {
    shape s = {.length = times(times(r->c, r->kernel_h), r->kernel_w), .filters = r->f, .slices = (7 + r->cell_bits) / r->cell_bits};
    s.per_crossbar = r->columns / (SIGNS * s.slices);
    s.across = (int64_t)ceil_div((uint64_t)s.filters, (uint64_t)s.per_crossbar);
    s.lanes = times(s.filters, SIGNS * s.slices);
    return s;
}

static int64_t written(const registers *r, int64_t digit, uint64_t crossbar, uint64_t row, uint64_t column) {
    const int64_t top = (1 << r->cell_bits) - 1, ideal = digit * ONE;
    if (!r->noise && !r->stuck) return ideal;
    const uint64_t place = crossbar << 32 | row << 16 | column;
    const uint64_t random = mixed(place + (uint64_t)r->seed * FACTOR), again = mixed(random);
    if (again >> 32 < (uint32_t)r->stuck) return again & 1 ? top * ONE : 0;
    const int64_t noise = byte_sum(random) * (int64_t)(uint32_t)r->noise, noisy = ideal + (noise >= 0 ? noise >> 16 : ~(~noise >> 16));
    return noisy > 0 ? noisy : 0;
}

/* The weight of a filter at row k: channels outermost, then the kernel's rows and columns. */
static int8_t weight(const registers *r, const int8_t *w, int64_t filter, int64_t k) {
    const int64_t taps = (int64_t)r->kernel_h * r->kernel_w, tap = k % taps;
    return w[(filter * taps + tap) * r->c + k / taps];
}

/* Of one copy: [k][lane]. */
static void set_conductances(const registers *r, const shape *s, const int8_t *w, int64_t copy, int32_t *g) {
    const int64_t down = (s->length + r->rows - 1) / r->rows, top = (1 << r->cell_bits) - 1;
    for (int64_t k = 0; k < s->length; k++)
        for (int64_t lane = 0; lane < s->lanes; lane++) {
            const int64_t each = SIGNS * s->slices, filter = lane / each, sign = lane % each / s->slices, slice = lane % s->slices;
            const int64_t value = sign ? -weight(r, w, filter, k) : weight(r, w, filter, k), magnitude = value > 0 ? value : 0;
            const int64_t crossbar = r->first + (copy * down + k / r->rows) * s->across + filter / s->per_crossbar;
            const int64_t column = filter % s->per_crossbar * each + sign * s->slices + slice;
            g[k * s->lanes + lane] = (int32_t)written(r, magnitude >> slice * r->cell_bits & top, (uint64_t)crossbar,
                                                      (uint64_t)(k % r->rows), (uint64_t)column);
        }
}

static int64_t converted(const registers *r, int64_t sum, int64_t full) {
    const int64_t nearest = (sum + ONE / 2) >> 8;
    if (!r->adc_bits) return nearest;
    const int64_t levels = ((int64_t)1 << r->adc_bits) - 1;
    if (levels >= full) return nearest < full ? nearest : full;
    int64_t code = (sum * levels + full * (ONE / 2)) / (full * ONE);
    if (code > levels) code = levels;
    return (code * full * 2 + levels) / (2 * levels);
}

static int64_t full_scale(const registers *r, int64_t rows) {
    const int64_t most = rows * ((1 << r->input_bits) - 1) * ((1 << r->cell_bits) - 1), full = most * r->adc_range >> 16;
    return full > 1 ? full : 1;
}

/* Adds what one vector gives in one block of rows to the totals of all filters. */
static void add_block(const registers *r, const shape *s, const uint8_t *x, const int32_t *g, int64_t rows, int64_t *sums, int64_t *total) {
    const int64_t full = full_scale(r, rows);
    for (int phase = 0; phase < r->phases; phase++) {
        memset(sums, 0, (size_t)s->lanes * sizeof *sums);
        for (int64_t k = 0; k < rows; k++) {
            const int64_t digit = x[k] >> phase * r->input_bits & ((1 << r->input_bits) - 1);
            if (digit)
                for (int64_t lane = 0; lane < s->lanes; lane++) sums[lane] += digit * g[k * s->lanes + lane];
        }
        for (int64_t lane = 0; lane < s->lanes; lane++) {
            const int64_t each = SIGNS * s->slices, seen = converted(r, sums[lane], full);
            const int64_t scaled = seen << (lane % s->slices * r->cell_bits + phase * r->input_bits);
            total[lane / each] += lane % each < s->slices ? scaled : -scaled;
        }
    }
}

/* ---- a job ---- */

/* What the rows of a position are given: bytes without sign. */
static void gather(const registers *r, const uint8_t *image, int y, int x, uint8_t *vector) {
    const uint8_t flip = r->x_signed ? 128 : 0;
    for (int c = 0; c < r->c; c++)
        for (int i = 0; i < r->kernel_h; i++)
            for (int j = 0; j < r->kernel_w; j++) {
                const int row = y * r->stride_h + i * r->dilation_h - r->pad_top, column = x * r->stride_w + j * r->dilation_w - r->pad_left;
                const int inside = row >= 0 && row < r->in_h && column >= 0 && column < r->in_w;
                *vector++ = inside ? (uint8_t)(image[(row * r->in_w + column) * r->c + c] ^ flip) : (uint8_t)(r->x_zero + flip);
            }
}

typedef struct {
    int64_t *sums, *total, *of_filter; /* of_filter: its weights' sum */
    int32_t *g;                        /* conductances of a copy */
    uint8_t *vector;
} working;

static void position(const registers *r, const shape *s, const working *at, const int32_t *bias, int32_t *y) {
    const int64_t zeros = r->x_zero + (r->x_signed ? 128 : 0);
    int64_t inputs = 0;
    memset(at->total, 0, (size_t)s->filters * sizeof *at->total);
    for (int64_t k = 0; k < s->length; k++) inputs += at->vector[k] - zeros;
    for (int64_t k = 0; k < s->length; k += r->rows) {
        const int64_t rows = s->length - k < r->rows ? s->length - k : r->rows;
        add_block(r, s, at->vector + k, at->g + k * s->lanes, rows, at->sums, at->total);
    }
    for (int64_t f = 0; f < s->filters; f++)
        y[f] = (int32_t)(at->total[f] - zeros * at->of_filter[f] - (int32_t)r->w_zero * inputs + bias[f]);
}

static void of_filters(const registers *r, const shape *s, const int8_t *w, int64_t *sums) {
    for (int64_t f = 0; f < s->filters; f++) {
        sums[f] = 0;
        for (int64_t k = 0; k < s->length; k++) sums[f] += weight(r, w, f, k);
    }
}

static void convolution(const registers *r, const shape *s, const working *at, const int8_t *w, const uint8_t *x, const int32_t *bias,
                        int32_t *y) {
    const int64_t pixels = (int64_t)r->out_h * r->out_w, vectors = r->n * pixels, image = (int64_t)r->in_h * r->in_w * r->c;
    of_filters(r, s, w, at->of_filter);
    for (int64_t copy = 0; copy < r->copies && copy < vectors; copy++) {
        set_conductances(r, s, w, copy, at->g);
        for (int64_t v = copy; v < vectors; v += r->copies) {
            const int64_t pixel = v % pixels;
            gather(r, x + v / pixels * image, (int)(pixel / r->out_w), (int)(pixel % r->out_w), at->vector);
            position(r, s, at, bias, y + v * s->filters);
        }
    }
}

static uint32_t fitting(job *j, int64_t bytes) {
    if (bytes > UINT32_MAX) job_stop(j, "has an operand or a result of 4 GiB or more\nlook at the sizes that the driver writes");
    return (uint32_t)bytes;
}

static void compute(const registers *r, job *j) {
    if (!r->rows || !r->columns || !r->copies || !r->cell_bits || !r->input_bits)
        job_stop(j, "has no rows, columns, copies or bits of cells or inputs\nwrite these registers before it starts");
    const shape s = shape_of(r);
    if (!s.per_crossbar) job_stop(j, "has too few columns for a filter\nwrite this register before it starts");
    const int64_t image = times(times(r->in_h, r->in_w), r->c), pixels = times(times(r->n, r->out_h), r->out_w);
    const uint8_t *x = job_in(j, (uint32_t)r->x, fitting(j, times(r->n, image)));
    const int8_t *w = job_in(j, (uint32_t)r->weights, fitting(j, times(s.length, s.filters)));
    const int32_t *bias = job_in(j, (uint32_t)r->bias, fitting(j, times(4, s.filters)));
    int32_t *y = job_out(j, (uint32_t)r->y, fitting(j, times(4, times(pixels, s.filters))));
    if (j->rehearses) return;
    const working at = {calloc((size_t)s.lanes + 1, 8), calloc((size_t)s.filters + 1, 8), calloc((size_t)s.filters + 1, 8),
                        calloc((size_t)times(s.length, s.lanes) + 1, 4), calloc((size_t)s.length + 1, 1)};
    const int is_there = at.sums && at.total && at.of_filter && at.g && at.vector;
    if (is_there) convolution(r, &s, &at, w, x, bias, y);
    free(at.sums), free(at.total), free(at.of_filter), free(at.g), free(at.vector);
    if (!is_there) job_stop(j, "has no memory for the cells of a layer\nuse cells with more bits, or layers with fewer weights");
}
