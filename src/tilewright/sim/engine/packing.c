/* Memory as a snapshot keeps it: most of a machine's memory is never touched, so that blocks of zeros are left out. */
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "engine/sim.h"

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
static void clear_blocks(u8 *data, size_t size) {
    for (size_t at = 0; at < size; at += BLOCK)
        if (!is_zero(data + at, block_at(at, size))) memset(data + at, 0, block_at(at, size));
}

#if defined(__linux__)
enum { PAGES = 1 << 16 }; /* A whole number of pages on any system. */

/* Zeros again. Whole pages of a long stretch are given back to the system, which has zeros there when they are touched
 * next: to look at all of a large memory takes longer than to run a small program in it. Emulators of Linux may accept
 * the advice without following it: a byte shows that. */
static void clear(u8 *data, size_t size) {
    const size_t before = -(size_t)data & (PAGES - 1), whole = size < before ? 0 : (size - before) & ~(size_t)(PAGES - 1);
    if (whole) data[before] = 1;
    if (whole && madvise(data + before, whole, MADV_DONTNEED) == 0 && data[before] == 0) {
        clear_blocks(data, before);
        clear_blocks(data + before + whole, size - before - whole);
        return;
    }
    clear_blocks(data, size);
}
#else
static void clear(u8 *data, size_t size) { clear_blocks(data, size); }
#endif

const u8 *unpack(u8 *data, size_t size, const u8 *from) {
    for (size_t at = 0; at < size;) {
        const size_t first = at;
        for (; at < size && !*from; from++) at += block_at(at, size);
        clear(data + first, at - first);
        for (; at < size && *from; from++) {
            const size_t bytes = block_at(at, size);
            memcpy(data + at, from + 1, bytes);
            at += bytes, from += bytes;
        }
    }
    return from;
}
