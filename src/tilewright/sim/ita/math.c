/* ITA: what it computes. Everything is exact in 64 bits; sums of 15 tiles and a bias of 24 bits stay within its 26. */
#include "ita/ita.h"

enum { LARGEST_SHIFT = 40, PRODUCT_BITS = 26 }; /* products have fewer than 35 bits: more shifting leaves nothing */

static i32 clipped(i64 x) { return (i32)(x < -128 ? -128 : x > 127 ? 127 : x); }

i32 ita_requantised(i64 x, const ita_scale *k) {
    i64 product = (i64)k->multiplier * x;
    if (k->shift > LARGEST_SHIFT) product = 0;
    else if (k->shift) product = (product + ((i64)1 << (k->shift - 1))) >> k->shift;
    return clipped(product + k->add);
}

static i64 gelu_sum(i64 x, const ita_activation *k) {
    const i64 distance = x < 0 ? -x : x, limited = distance < -k->b ? distance : -k->b;
    const i64 parabola = (limited + k->b) * (limited + k->b) + k->c;
    return x * ((x < 0 ? -parabola : parabola) + k->c);
}

i32 ita_activated(i32 x, const ita_activation *k) {
    if (k->kind == ACTIVATION_RELU) return ita_requantised(x > 0 ? x : 0, &k->scale);
    if (k->kind == ACTIVATION_GELU) return ita_requantised(gelu_sum(x, k), &k->scale);
    return x;
}

/* Do the products of GELU fit its registers for every byte? */
int ita_has_room_for(const ita_activation *k) {
    const i64 most = (i64)1 << (PRODUCT_BITS - 1);
    if (k->kind != ACTIVATION_GELU) return 1;
    if (k->b >= 0 || k->c >= 0) return 0;
    for (i32 x = -128; x < 128; x++) {
        const i64 sum = gelu_sum(x, k);
        if (sum < -most || sum >= most) return 0;
    }
    return 1;
}

const ita_softmax ITAPOOL_SOFTMAX = {.step_bits = 5, .one = 1024, .numerator = 127 * 1024};
ita_softmax ita_softmax_with(u32 step_bits) { return (ita_softmax){.step_bits = step_bits, .one = 256, .numerator = 255 * 256}; }

static u32 halved(const ita_softmax *k, u32 value, i32 distance) {
    const u32 times = ((u32)distance + (1u << k->step_bits >> 1)) >> k->step_bits;
    return times < 32 ? value >> times : 0;
}

void ita_softmax_begin(ita_softmax_row *row) { *row = (ita_softmax_row){.largest = -128}; }

/* 16 columns of a row: where they raise the largest value, what was summed up before is halved as often. */
void ita_softmax_take(const ita_softmax *k, ita_softmax_row *row, const i8 *group) {
    i32 largest = row->largest;
    for (u32 i = 0; i < ITA_UNITS; i++) largest = group[i] > largest ? group[i] : largest;
    row->sum = halved(k, row->sum, largest - row->largest);
    for (u32 i = 0; i < ITA_UNITS; i++) row->sum += halved(k, k->one, largest - group[i]);
    row->largest = largest;
}

void ita_softmax_end(const ita_softmax *k, ita_softmax_row *row) { row->inverse = row->sum ? k->numerator / row->sum : 0; }

u32 ita_share(const ita_softmax *k, const ita_softmax_row *row, i32 x) { return halved(k, row->inverse, row->largest - x); }

/* One row against the 16 columns whose weights are loaded. */
void ita_multiply(const i16 *row, i8 weights[ITA_UNITS][ITA_ROW], i32 *sum) {
    for (u32 o = 0; o < ITA_UNITS; o++) {
        i32 total = 0;
        for (u32 k = 0; k < ITA_ROW; k++) total += row[k] * weights[o][k];
        sum[o] += total;
    }
}
