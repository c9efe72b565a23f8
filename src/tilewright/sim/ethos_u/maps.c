/* Feature maps: elements in memory as 32-bit integers, and back. */
#include "ethos_u/ethos_u.h"

#define BRICK 16u

/* A stream may name any shape: what it asks for in one operation is limited. */
void npu_limit(npu *n, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    unsigned __int128 total = (unsigned __int128)a * b * c;
    uint64_t most = n->chip->most_work;
    if (total > most || (d && total > most / d)) npu_fail(n, NPU_TOO_LARGE, (int64_t)most);
}

static uint64_t address_of(const npu_map *m, uint32_t y, uint32_t x, uint32_t c) {
    uint32_t tile = 0;
    if (x >= m->width0) {
        x -= m->width0;
        tile = 1;
        if (y >= m->height1) y -= m->height1, tile = 3;
    } else if (y >= m->height0) {
        y -= m->height0;
        tile = 2;
    }
    uint64_t row = m->base[tile] + y * m->stride_y;
    if (m->is_bricked) return row + c / BRICK * m->stride_c + (uint64_t)(x * BRICK + c % BRICK) * m->bytes;
    return row + x * m->stride_x + (uint64_t)c * m->bytes;
}

/* Channels from one on whose elements are side by side. */
static uint32_t run_of(const npu_map *m, uint32_t c) {
    uint32_t left = m->depth - c;
    return m->is_bricked && left > BRICK ? BRICK : left;
}

static int32_t element(const npu_map *m, const uint8_t *bytes) {
    if (m->bytes == 1) return m->is_signed ? (int8_t)bytes[0] : bytes[0];
    uint32_t low = bytes[0] | (uint32_t)bytes[1] << 8;
    if (m->bytes == 2) return m->is_signed ? (int16_t)low : (int32_t)low;
    return (int32_t)(low | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
}

static void gather_pixel(npu *n, const npu_map *m, uint32_t y, uint32_t x, int32_t *values) {
    for (uint32_t c = 0; c < m->depth; c += run_of(m, c)) {
        uint32_t run = run_of(m, c);
        const uint8_t *bytes = npu_bytes_to_read(n, m->region, address_of(m, y, x, c), (uint64_t)run * m->bytes);
        for (uint32_t k = 0; k < run; k++) values[c + k] = element(m, bytes + k * m->bytes) - m->zero;
    }
}

/* Elements less the zero point, of those rows and columns that are used; NULL: of all. */
int32_t *npu_gather(npu *n, const npu_map *m, const uint8_t *rows, const uint8_t *columns) {
    npu_limit(n, m->height, m->width, m->depth, 1);
    int32_t *values = npu_allocate(n, (uint64_t)m->height * m->width * m->depth, sizeof *values);
    for (uint32_t y = 0; y < m->height; y++)
        for (uint32_t x = 0; x < m->width; x++) {
            if ((rows && !rows[y]) || (columns && !columns[x])) continue;
            gather_pixel(n, m, y, x, values + ((uint64_t)y * m->width + x) * m->depth);
        }
    return values;
}

static void store(uint8_t *bytes, int32_t value, uint32_t size) {
    for (uint32_t k = 0; k < size; k++) bytes[k] = (uint8_t)((uint32_t)value >> 8 * k);
}

void npu_scatter(npu *n, const npu_op *op, const int32_t *values) {
    const npu_map *m = &op->y;
    for (uint32_t y = 0; y < m->height; y++)
        for (uint32_t x = 0; x < m->width; x++)
            for (uint32_t c = 0; c < m->depth; c += run_of(m, c)) {
                uint32_t run = run_of(m, c);
                uint8_t *bytes = npu_bytes_to_write(n, m->region, address_of(m, y, x, c), (uint64_t)run * m->bytes);
                for (uint32_t k = 0; k < run; k++) store(bytes + k * m->bytes, *values++, m->bytes);
            }
    n->counts->elements += (uint64_t)m->height * m->width * m->depth;
}

static void note(npu_accesses *found, const npu_map *m, int is_write, uint32_t y0, uint32_t x0, uint32_t y1, uint32_t x1) {
    if (y0 >= y1 || x0 >= x1 || found->count == NPU_SPANS) return;
    uint64_t begin = address_of(m, y0, x0, 0), end = address_of(m, y1 - 1, x1 - 1, m->depth - 1) + m->bytes;
    found->spans[found->count++] = (npu_span){m->region, (uint32_t)is_write, begin, end};
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* From the first to the last byte of each tile. */
void npu_map_spans(const npu_map *m, int is_write, npu_accesses *found) {
    uint32_t left = smaller(m->width, m->width0), top = smaller(m->height, m->height0);
    uint32_t right = smaller(m->height, m->height1);
    note(found, m, is_write, 0, 0, top, left);
    note(found, m, is_write, top, 0, m->height, left);
    note(found, m, is_write, 0, left, right, m->width);
    note(found, m, is_write, right, left, m->height, m->width);
}
