/* Memory as a snapshot keeps it: most of a machine's memory is never touched, so that blocks of zeros are left out. */
#include "sim.h"

enum { BLOCK = 4096 };

static size_t block_at(size_t offset, size_t size) { return size - offset < BLOCK ? size - offset : BLOCK; }

static int is_zero(const u8 *data, size_t size) {
    u64 found = 0, word;
    size_t i = 0;
    for (; i + sizeof word <= size; i += sizeof word) {
        memcpy(&word, data + i, sizeof word);
        found |= word;
    }
    for (; i < size; i++) found |= data[i];
    return found == 0;
}

size_t packed_bytes(const u8 *data, size_t size) {
    size_t bytes = 0;
    for (size_t at = 0; at < size; at += BLOCK) bytes += 1 + (is_zero(data + at, block_at(at, size)) ? 0 : block_at(at, size));
    return bytes;
}

/* A byte for each block: 0, or 1 and the block. Returns where it ends. */
u8 *pack(const u8 *data, size_t size, u8 *to) {
    for (size_t at = 0; at < size; at += BLOCK) {
        const size_t bytes = block_at(at, size);
        *to = !is_zero(data + at, bytes);
        if (*to++) to = (u8 *)memcpy(to, data + at, bytes) + bytes;
    }
    return to;
}

/* Blocks that are zeros already are not written: their pages stay untouched. */
const u8 *unpack(u8 *data, size_t size, const u8 *from) {
    for (size_t at = 0; at < size; at += BLOCK) {
        const size_t bytes = block_at(at, size);
        if (*from++) {
            memcpy(data + at, from, bytes);
            from += bytes;
        } else if (!is_zero(data + at, bytes)) {
            memset(data + at, 0, bytes);
        }
    }
    return from;
}
