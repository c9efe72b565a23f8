/* Weights as they are stored: slices of numbers of few bits, a palette of values, and counts of zeros between them.
 *
 * A slice has a header (bits of a count of zeros, how many numbers, bits of a number), perhaps a new palette, and then,
 * in turns, groups of numbers and of counts. Each is a quotient in unary and a remainder in binary; the remainders of a
 * group stand behind the quotients of the next. The first bit is the lowest of the first byte. */
#include "ethos_u/ethos_u.h"

#include <string.h>

#define LONGEST 32768u /* numbers in a slice */
#define GROUP 12u      /* numbers, or counts, in a group at most */
enum { NO_ZEROS = 6, END = 7, PLAIN = 7 };

typedef struct {
    uint32_t count, remainders[GROUP]; /* the quotients; their remainders follow */
} group;

struct npu_decoder {
    npu *n;
    const uint8_t *bytes;
    uint64_t size, bit;
    uint32_t palette[32], palette_size, palette_bits, offset;
    int has_palette, is_fresh, has_zeros;
    uint32_t zero_bits, number_bits, is_plain, is_short;
    uint32_t numbers[LONGEST], zeros[LONGEST + 1];
    uint32_t count, next, zeros_left;
};

static _Noreturn void bad(npu_decoder *d) {
    d->n->fault->address = d->bit / 8;
    npu_fail(d->n, NPU_WEIGHTS, (int64_t)d->bit);
}

static uint32_t bits(npu_decoder *d, uint32_t count) {
    uint32_t value = 0;
    if (d->bit + count > 8 * d->size) bad(d);
    for (uint32_t k = 0; k < count; k++, d->bit++) value |= (uint32_t)(d->bytes[d->bit / 8] >> d->bit % 8 & 1) << k;
    return value;
}

npu_decoder *npu_open_weights(npu *n, const uint8_t *bytes, uint64_t size) {
    npu_decoder *d = npu_allocate(n, 1, sizeof *d);
    d->n = n, d->bytes = bytes, d->size = size;
    return d;
}

static void read_palette(npu_decoder *d) {
    d->offset = bits(d, 5);
    d->palette_size = bits(d, 5);
    if (d->palette_size > 0) d->palette_size++;
    d->palette_bits = bits(d, 3) + 2;
    for (uint32_t k = 0; k < d->palette_size; k++) d->palette[k] = bits(d, d->palette_bits);
    d->has_palette = 1;
}

static uint32_t plain_bits(const npu_decoder *d) {
    uint32_t needed = 0;
    if (d->palette_size == 0) return d->palette_bits;
    while (1u << needed < d->palette_size) needed++;
    return needed;
}

static void read_header(npu_decoder *d) {
    uint32_t zeros = bits(d, 3);
    while (zeros == END) {
        d->bit = (d->bit + 7) / 8 * 8;
        d->has_palette = 0;
        zeros = bits(d, 3);
    }
    d->count = bits(d, 15) + 1;
    d->number_bits = bits(d, 3);
    d->is_short = bits(d, 1);
    d->is_fresh = (int)bits(d, 1);
    if (d->is_fresh) read_palette(d);
    if (!d->has_palette || (!d->is_fresh && d->has_zeros != (zeros != NO_ZEROS))) bad(d);
    if (zeros > 3 && zeros != NO_ZEROS) bad(d);
    if (d->number_bits == 6) bad(d);
    d->has_zeros = zeros != NO_ZEROS;
    d->zero_bits = d->has_zeros ? zeros : 0;
    d->is_plain = d->number_bits == PLAIN;
    if (d->is_plain) d->number_bits = plain_bits(d);
}

/* Quotients of numbers: 0, 1, or 2 and more; a second group of bits says which of the latter two. */
static void number_quotients(npu_decoder *d, uint32_t first, uint32_t *carry, group *g) {
    uint32_t most = d->is_plain && d->number_bits > 5 ? 8 : GROUP, large = 0;
    for (uint32_t k = 0; k < most; k++) large += first >> k & 1;
    uint32_t second = large ? bits(d, large) : 0;
    g->count = 0;
    for (uint32_t k = 0; k < most; k++) {
        uint32_t code = first >> k & 1;
        if (code) code += second & 1, second >>= 1;
        *carry += code;
        if (code == 2 && !d->is_short) continue;
        g->remainders[g->count++] = *carry;
        *carry = 0;
    }
}

static void zero_quotients(npu_decoder *d, uint32_t *carry, group *g) {
    uint32_t length = d->zero_bits < 3 ? GROUP : 8, word = bits(d, length);
    g->count = 0;
    for (uint32_t k = 0; k < length; k++) {
        if (word >> k & 1) ++*carry;
        else g->remainders[g->count++] = *carry, *carry = 0;
    }
}

static uint32_t take(npu_decoder *d, const group *g, uint32_t width, uint32_t *values, uint32_t at, uint32_t most) {
    for (uint32_t k = 0; k < g->count && at < most; k++) values[at++] = (g->remainders[k] << width) + bits(d, width);
    return at;
}

static void read_slice(npu_decoder *d) {
    read_header(d);
    uint32_t counts = d->has_zeros ? d->count + (uint32_t)d->is_fresh : 0;
    uint32_t begun = 0, zeros_begun = 0, done = 0, zeros_done = 0, carry = 0, zeros_carry = 0;
    group numbers = {0}, zeros = {0};
    do {
        group before = numbers, zeros_before = zeros;
        int64_t ahead = d->has_zeros ? (int64_t)begun - zeros_begun : 0;
        int takes_numbers = ahead < 8 && begun < d->count, takes_zeros = ahead >= 0 && zeros_begun < counts;
        numbers.count = zeros.count = 0;
        uint32_t first = takes_numbers && !d->is_plain ? bits(d, GROUP) : 0;
        if (takes_zeros) zero_quotients(d, &zeros_carry, &zeros);
        if (takes_numbers) number_quotients(d, first, &carry, &numbers);
        begun += numbers.count, zeros_begun += zeros.count;
        done = take(d, &before, d->number_bits, d->numbers, done, d->count);
        zeros_done = take(d, &zeros_before, d->zero_bits, d->zeros, zeros_done, counts);
    } while (done < d->count || zeros_done < counts);
    d->next = 0;
    d->zeros_left = d->is_fresh && d->has_zeros ? d->zeros[0] : 0;
}

/* Sign and size: the sign is the lowest bit. */
static int32_t value_of(npu_decoder *d, uint32_t number) {
    uint32_t code = number < d->palette_size ? d->palette[number] : number - d->palette_size + d->offset;
    if (code > 511) bad(d);
    return code & 1 ? -(int32_t)(code >> 1) : (int32_t)(code >> 1);
}

int32_t npu_next_weight(npu_decoder *d) {
    while (d->zeros_left == 0 && d->next == d->count) read_slice(d);
    if (d->zeros_left > 0) {
        d->zeros_left--;
        return 0;
    }
    int32_t value = value_of(d, d->numbers[d->next++]);
    if (d->has_zeros) d->zeros_left = d->zeros[d->next - (d->is_fresh ? 0 : 1)];
    return value;
}
