/* Regions, each access checked, and the DMA between them. */
#include "ethos_u/ethos_u.h"

#include <string.h>

#include "ethos_u/codes.h"

static npu_region *region_of(npu *n, uint32_t region) {
    if (region == NPU_BUFFER_REGION) return &n->buffer;
    if (region >= NPU_REGIONS || n->regions[region].bytes == NULL) npu_fail_at(n, NPU_NO_REGION, region, 0, 0, 0);
    return &n->regions[region];
}

static npu_region *inside(npu *n, uint32_t region, uint64_t address, uint64_t size, int is_write) {
    npu_region *found = region_of(n, region);
    if (size > found->size || address > found->size - size)
        npu_fail_at(n, NPU_OUTSIDE, region, address, size, is_write);
    return found;
}

static void check_written(npu *n, const npu_region *found, uint32_t region, uint64_t address, uint64_t size) {
    const uint8_t *hole = found->written ? memchr(found->written + address, 0, size) : NULL;
    if (hole != NULL) npu_fail_at(n, NPU_UNWRITTEN, region, (uint64_t)(hole - found->written), 1, 0);
}

const uint8_t *npu_bytes_to_read(npu *n, uint32_t region, uint64_t address, uint64_t size) {
    npu_region *found = inside(n, region, address, size, 0);
    check_written(n, found, region, address, size);
    n->counts->read_bytes += size;
    return found->bytes + address;
}

uint8_t *npu_bytes_to_write(npu *n, uint32_t region, uint64_t address, uint64_t size) {
    npu_region *found = inside(n, region, address, size, 1);
    if (found->is_constant) npu_fail_at(n, NPU_CONSTANT, region, address, size, 1);
    if (found->written) memset(found->written + address, 1, size);
    n->counts->written_bytes += size;
    return found->bytes + address;
}

/* Bytes between or behind what a transfer needs may never have been written: what is written follows the bytes. */
static void move(npu *n, uint32_t to, uint64_t target, uint32_t from, uint64_t source, uint64_t size) {
    const npu_region *read = inside(n, from, source, size, 0);
    uint8_t *bytes = npu_bytes_to_write(n, to, target, size);
    memmove(bytes, read->bytes + source, size);
    npu_region *written = region_of(n, to);
    if (read->written && written->written) memmove(written->written + target, read->written + source, size);
    n->counts->dma_bytes += size;
}

enum { ONE_DIMENSION, TWO_DIMENSIONS, THREE_DIMENSIONS };

typedef struct {
    uint32_t region, dimensions;
    uint64_t address, skip0, skip1;
} side;

static side side_of(npu *n, uint32_t region, uint32_t address) {
    uint32_t word = npu_parameter(n, region);
    side made = {word & 7, word >> 9 & 3, npu_payload(n, address), 0, 0};
    if (word >> 8 & 1) made.region = NPU_BUFFER_REGION;
    if (made.dimensions > THREE_DIMENSIONS || (made.dimensions && !n->chip->moves_blocks)) npu_fail(n, NPU_RESERVED, word);
    if (made.dimensions >= TWO_DIMENSIONS) made.skip0 = npu_payload(n, NPU_SET_DMA0_SKIP0);
    if (made.dimensions == THREE_DIMENSIONS) made.skip1 = npu_payload(n, NPU_SET_DMA0_SKIP1);
    return made;
}

static npu_span span_of(const side *s, uint64_t bytes, int is_write) {
    return (npu_span){s->region, is_write, s->address, s->address + bytes};
}

void npu_transfer(npu *n, uint32_t mode) {
    (void)mode;
    side from = side_of(n, NPU_SET_DMA0_SRC_REGION, NPU_SET_DMA0_SRC);
    side to = side_of(n, NPU_SET_DMA0_DST_REGION, NPU_SET_DMA0_DST);
    uint64_t length = npu_payload(n, NPU_SET_DMA0_LEN), rows = 1, planes = 1;
    uint32_t most = from.dimensions > to.dimensions ? from.dimensions : to.dimensions;
    if (most >= TWO_DIMENSIONS) rows = npu_parameter(n, NPU_SET_DMA0_SIZE0) + 1u;
    if (most == THREE_DIMENSIONS) planes = npu_parameter(n, NPU_SET_DMA0_SIZE1) + 1u;
    if (length % 16 && !n->chip->moves_blocks) npu_fail(n, NPU_ALIGNMENT, (int64_t)length);
    npu_limit(n, length, rows, planes, 1);
    npu_span read = span_of(&from, length, 0), written = span_of(&to, length, 1);
    npu_note_transfer(n, &read, &written);
    for (uint64_t plane = 0; plane < planes; plane++)
        for (uint64_t row = 0; row < rows; row++) {
            uint64_t source = from.address + row * (length + from.skip0) + plane * from.skip1;
            uint64_t target = to.address + row * (length + to.skip0) + plane * to.skip1;
            move(n, to.region, target, from.region, source, length);
        }
}
