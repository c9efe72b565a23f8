/* The input as kernels see it: upscaled, with padding around it. */
#include "ethos_u/ethos_u.h"

enum { AS_IS, NEAREST, WITH_ZEROS };

/* Rows or columns of the upscaled input, from what the result needs. */
static uint32_t extent(npu *n, uint32_t outputs, uint32_t stride, uint32_t taps, uint32_t dilation, uint32_t padding) {
    int64_t size = (int64_t)(outputs - 1) * stride + (int64_t)(taps - 1) * dilation + 1 - padding;
    if (size < 1 || size > 65536) npu_fail(n, NPU_SHAPE, size);
    return (uint32_t)size;
}

/* Which rows (or columns) of the map some window touches. */
static uint8_t *touched(npu *n, uint32_t size, uint32_t map_size, uint32_t outputs, uint32_t stride, uint32_t taps,
                        uint32_t dilation, uint32_t before, uint32_t upscale) {
    uint8_t *found = npu_allocate(n, map_size, 1);
    for (uint32_t o = 0; o < outputs; o++)
        for (uint32_t tap = 0; tap < taps; tap++) {
            int64_t at = (int64_t)o * stride + tap * dilation - before;
            if (at < 0 || at >= size || (upscale == WITH_ZEROS && at % 2)) continue;
            found[upscale ? at / 2 : at] = 1;
        }
    return found;
}

npu_input npu_read_input(npu *n, npu_op *op) {
    const npu_kernel *k = &op->kernel;
    npu_map *m = &op->x;
    npu_input made = {.depth = m->depth, .upscale = op->upscale};
    npu_limit(n, op->y.height, k->height, 1, 1);
    npu_limit(n, op->y.width, k->width, 1, 1);
    made.height = extent(n, op->y.height, k->stride_y, k->height, k->dilation_y, op->pad_top + op->pad_bottom);
    made.width = extent(n, op->y.width, k->stride_x, k->width, k->dilation_x, op->pad_left + op->pad_right);
    m->height = op->upscale ? (made.height + 1) / 2 : made.height;
    m->width = made.map_width = op->upscale ? (made.width + 1) / 2 : made.width;
    npu_note_kernel(n, op);
    made.values = npu_gather(
        n, m,
        touched(n, made.height, m->height, op->y.height, k->stride_y, k->height, k->dilation_y, op->pad_top, op->upscale),
        touched(n, made.width, m->width, op->y.width, k->stride_x, k->width, k->dilation_x, op->pad_left, op->upscale));
    return made;
}

const int32_t *npu_pixel(const npu_input *input, int64_t y, int64_t x, int *is_padding) {
    *is_padding = y < 0 || x < 0 || y >= input->height || x >= input->width;
    if (*is_padding || (input->upscale == WITH_ZEROS && (y % 2 || x % 2))) return NULL;
    if (input->upscale) y /= 2, x /= 2;
    return input->values + ((uint64_t)y * input->map_width + (uint64_t)x) * input->depth;
}
