/* N-EUREKA: what it computes. */
#include "neureka/neureka.h"

static u32 at_most(u32 value, u32 limit) { return value < limit ? value : limit; }

/* No tile is larger than the engine, whatever the registers say. */
static void limit_tiles(neureka_job *j) {
    j->rem_ki = at_most(j->rem_ki, neureka_in_tile(j));
    j->rem_ko = at_most(j->rem_ko, neureka_out_tile(j));
    j->rem_ho = at_most(j->rem_ho, SIDE);
    j->rem_wo = at_most(j->rem_wo, SIDE);
    j->scale_bits = at_most(j->scale_bits, 32);
}

void neureka_unpack(neureka_job *j, const u32 *r) {
    u32 k = r[23];
    *j = (neureka_job){
        .weights = r[0], .input = r[1], .output = r[2], .scale = r[3], .shifts = r[4], .bias = r[5],
        .in_pixel = r[6], .in_row = r[7], .out_pixel = r[10], .out_row = r[11], .weight_bit = r[12], .weight_out = r[13],
        .rem_ko = r[15] >> 16, .rem_ki = r[15] & 0xffff, .rem_ho = r[16] >> 16, .rem_wo = r[16] & 0xffff,
        .rem_hi = r[17] >> 16, .rem_wi = r[17] & 0xffff, .n_ko = r[18] >> 16, .n_ki = r[18] & 0xffff,
        .n_ho = r[19] >> 16, .n_wo = r[19] & 0xffff,
        .pad_top = r[20] >> 28, .pad_left = r[20] >> 16 & 15, .pad_value = r[20] & 0xffff,
        .weight_offset = (i32)r[21], .mask = r[22], .mode = k >> 5 & 3, .bits = (k & 7) + 1, .quantise = k >> 4 & 1,
        .in_wmem = k >> 9 & 1, .prefetch = k >> 10 & 1, .scale_bits = 8u << (k >> 12 & 3), .stream_in = k >> 14 & 1,
        .shift = k >> 16 & 31, .out_bits = (k >> 21 & 3) == 2 ? 32 : 8, .is_signed_out = k >> 23 & 1,
        .channel_shift = k >> 24 & 1, .has_bias = k >> 25 & 1, .is_signed_in = k >> 26 & 1,
    };
    limit_tiles(j);
}

/* Top and left padding have a value; what lies below and to the right of the loaded field is 0. */
void neureka_pad(neureka_engine *e) {
    const neureka_job *j = &e->job;
    for (u32 y = 0; y < FIELD; y++)
        for (u32 x = 0; x < FIELD; x++) {
            int is_before = (e->ho == 0 && y < j->pad_top) || (e->wo == 0 && x < j->pad_left);
            if (y >= e->h_in || x >= e->w_in) memset(e->field[y][x], 0, LANES);
            else if (is_before) memset(e->field[y][x], (int)(j->pad_value & 0xff), LANES);
            for (u32 k = e->kin; k < LANES; k++) e->field[y][x][k] = 0;
        }
}

static const u8 *weight_word(const neureka_engine *e, u32 offset) {
    u32 address = e->job.weights + offset;
    if (e->job.in_wmem) return e->wmem->data + (address & (e->wmem->size - 1) & ~3u);
    return e->tcdm->data + neureka_at(e, address);
}

static u32 bit(const u8 *word, u32 n) { return word[n >> 3] >> (n & 7) & 1; }

/* The codes of one output channel against one input tile: 9 taps by 28 channels, spread over `bits` words. */
static void unpack_3x3(const neureka_engine *e, u32 offset, i32 codes[9][LANES]) {
    memset(codes, 0, sizeof(i32) * 9 * LANES);
    for (u32 b = 0; b < e->job.bits; b++) {
        const u8 *word = weight_word(e, offset + b * e->job.weight_bit);
        for (u32 tap = 0; tap < 9; tap++)
            for (u32 k = 0; k < 28; k++) codes[tap][k] |= (i32)(bit(word, 28 * tap + k) << b);
    }
}

static void unpack_1x1(const neureka_engine *e, u32 offset, i32 codes[LANES]) {
    const u8 *word = weight_word(e, offset);
    for (u32 k = 0; k < LANES; k++) {
        codes[k] = 0;
        for (u32 b = 0; b < e->job.bits; b++) codes[k] |= (i32)(bit(word, 32 * (k >> 2) + 4 * b + (k & 3)) << b);
    }
}

static i32 activation(const neureka_engine *e, u32 y, u32 x, u32 k) {
    u8 v = e->field[y][x][k];
    return e->job.is_signed_in ? (i8)v : v;
}

static void dense_3x3(neureka_engine *e, u32 o, i32 codes[9][LANES]) {
    for (u32 y = 0; y < e->h; y++)
        for (u32 x = 0; x < e->w; x++) {
            u32 sum = (u32)e->acc[y * SIDE + x][o];
            for (u32 tap = 0; tap < 9; tap++) {
                if (e->job.mask >> tap & 1) continue;
                for (u32 k = 0; k < e->kin; k++)
                    sum += (u32)(activation(e, y + tap / 3, x + tap % 3, k) * (codes[tap][k] + e->job.weight_offset));
            }
            e->acc[y * SIDE + x][o] = (i32)sum;
        }
}

static void depthwise(neureka_engine *e, i32 codes[9][LANES]) {
    for (u32 y = 0; y < e->h; y++)
        for (u32 x = 0; x < e->w; x++)
            for (u32 tap = 0; tap < 9; tap++) {
                if (e->job.mask >> tap & 1) continue;
                for (u32 k = 0; k < e->kin; k++)
                    e->acc[y * SIDE + x][k] = (i32)((u32)e->acc[y * SIDE + x][k] + (u32)(activation(e, y + tap / 3, x + tap % 3, k) *
                                                                                         (codes[tap][k] + e->job.weight_offset)));
            }
}

static void dense_1x1(neureka_engine *e, u32 o, const i32 codes[LANES]) {
    for (u32 y = 0; y < e->h; y++)
        for (u32 x = 0; x < e->w; x++) {
            u32 sum = (u32)e->acc[y * SIDE + x][o];
            for (u32 k = 0; k < e->kin; k++) sum += (u32)(activation(e, y, x, k) * (codes[k] + e->job.weight_offset));
            e->acc[y * SIDE + x][o] = (i32)sum;
        }
}

/* All products of the loaded field with the weights of the current tiles. */
void neureka_accumulate(neureka_engine *e) {
    const neureka_job *j = &e->job;
    i32 codes[9][LANES];
    u32 words = j->weight_bit * j->bits;
    if (j->mode == MODE_DEPTHWISE) {
        unpack_3x3(e, e->ko * words, codes);
        depthwise(e, codes);
        return;
    }
    for (u32 o = 0; o < e->k; o++) {
        u32 row = (e->ko * LANES + o) * j->weight_out;
        if (j->mode == MODE_3X3) {
            unpack_3x3(e, row + e->ki * words, codes);
            dense_3x3(e, o, codes);
        } else {
            unpack_1x1(e, row + e->ki * j->weight_bit, codes[0]);
            dense_1x1(e, o, codes[0]);
        }
    }
}

static u32 scale_of(const neureka_engine *e, u32 channel) {
    u32 bytes = e->job.scale_bits / 8, value = 0;
    memcpy(&value, e->tcdm->data + neureka_at(e, e->job.scale + channel * bytes), bytes);
    return value;
}

static i32 quantised(const neureka_engine *e, i32 acc, u32 channel) {
    const neureka_job *j = &e->job;
    i64 value = (i64)acc * (i64)scale_of(e, channel);
    if (j->has_bias) {
        i32 bias;
        memcpy(&bias, e->tcdm->data + neureka_at(e, j->bias + 4 * channel), 4);
        value = (i32)(u32)((u64)value + (u64)(i64)bias);
    }
    value >>= j->channel_shift ? e->tcdm->data[neureka_at(e, j->shifts + channel)] & 31 : j->shift;
    if (j->out_bits == 32) return !j->is_signed_out && value < 0 ? 0 : (i32)value;
    i64 low = j->is_signed_out ? -128 : 0, high = j->is_signed_out ? 127 : 255;
    return (i32)(value < low ? low : value > high ? high : value);
}

void neureka_quantise(neureka_engine *e) {
    u32 first = e->ko * neureka_out_tile(&e->job);
    for (u32 p = 0; p < PIXELS; p++)
        for (u32 o = 0; o < e->k; o++) e->acc[p][o] = quantised(e, e->acc[p][o], first + o);
}
