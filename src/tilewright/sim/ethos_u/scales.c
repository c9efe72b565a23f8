/* Biases and scales: 10 bytes for each channel of the result. */
#include "ethos_u/ethos_u.h"

#define RECORD 10u

static npu_channel record(const uint8_t *b) {
    uint64_t bias = b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32;
    uint32_t scale = b[5] | (uint32_t)b[6] << 8 | (uint32_t)b[7] << 16 | (uint32_t)b[8] << 24;
    return (npu_channel){(int64_t)(bias << 24) >> 24, scale, b[9]};
}

static void read_core(npu *n, const npu_op *op, uint32_t core, npu_channel *channels) {
    const npu_stream *s = &op->streams[core];
    uint32_t count = (op->y.depth + op->cores - 1 - core) / op->cores;
    if ((uint64_t)count * RECORD > s->scale_bytes) npu_fail(n, NPU_SCALES, (int64_t)s->scale_bytes);
    const uint8_t *bytes = npu_bytes_to_read(n, op->scale_region, s->scales, (uint64_t)count * RECORD);
    for (uint32_t k = 0; k < count; k++) {
        npu_channel channel = record(bytes + k * RECORD);
        if (channel.shift > 63) npu_fail(n, NPU_SCALES, channel.shift);
        channels[k * op->cores + core] = channel;
    }
}

npu_channel *npu_read_scales(npu *n, const npu_op *op) {
    npu_channel *channels = npu_allocate(n, op->y.depth, sizeof *channels);
    for (uint32_t core = 0; core < op->cores; core++)
        if (core < op->y.depth) read_core(n, op, core, channels);
    return channels;
}
