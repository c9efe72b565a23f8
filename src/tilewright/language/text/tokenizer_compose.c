/* Unicode's normal form C: characters are taken apart, marks put in order, and all put together again. */
#include "tokenizer_parts.h"

enum { S = 0xAC00, L = 0x1100, V = 0x1161, T = 0x11A7, LS = 19, VS = 21, TS = 28 };
#define DEEPEST 8

static uint32_t class_of(const tw_composition *c, uint32_t code) {
    int32_t range = tw_last_at_most(c->classes, c->class_ranges, 8, code);
    return range < 0 ? 0 : c->classes[range] & 0xFFu;
}

static int32_t hangul_parts(uint32_t code, uint32_t *out) {
    uint32_t place = code - S;
    out[0] = L + place / (VS * TS);
    out[1] = V + place % (VS * TS) / TS;
    out[2] = T + place % TS;
    return out[2] == T ? 2 : 3;
}

/* The parts of a character into `out`, which has room for DEEPEST; gives their number. */
static int32_t parts(const tw_composition *c, uint32_t code, uint32_t *out) {
    uint32_t seconds[DEEPEST];
    int32_t depth = 0, count = 0;
    if (code - S < (uint32_t)LS * VS * TS) return hangul_parts(code, out);
    for (;;) {
        int32_t place = tw_last_at_most(c->code, c->codes, 0, code);
        if (place < 0 || c->code[place] != code || depth == DEEPEST - 1) break;
        if (c->second[place] != 0) seconds[depth++] = c->second[place];
        code = c->first[place];
    }
    out[count++] = code;
    while (depth > 0) out[count++] = seconds[--depth];
    return count;
}

/* A mark goes before those of a higher class that stand before it. */
static void sort_mark(const tw_composition *c, uint32_t *text, int32_t at) {
    uint32_t code = text[at], class = class_of(c, code);
    if (class == 0) return;
    for (; at > 0 && class_of(c, text[at - 1]) > class; at--) text[at] = text[at - 1];
    text[at] = code;
}

static uint32_t hangul(uint32_t first, uint32_t second) {
    if (first - L < LS && second - V < VS) return S + ((first - L) * VS + (second - V)) * TS;
    int has_no_end = first - S < (uint32_t)LS * VS * TS && (first - S) % TS == 0;
    return has_no_end && second - T - 1 < TS - 1 ? first + (second - T) : 0;
}

/* What two characters are together, or 0. */
static uint32_t pair(const tw_composition *c, uint32_t first, uint32_t second) {
    uint32_t low = 0, high = c->compositions, syllable = hangul(first, second);
    if (syllable != 0) return syllable;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, at = c->composed[middle];
        if (c->first[at] == first && c->second[at] == second) return c->code[at];
        if (c->first[at] < first || (c->first[at] == first && c->second[at] < second)) low = middle + 1;
        else high = middle;
    }
    return 0;
}

/* A character joins the last starter unless something of its class or above stands between. */
static int32_t put_together(const tw_composition *c, uint32_t *text, int32_t count) {
    int32_t starter = -1, kept = 0;
    uint32_t last = 0;
    for (int32_t i = 0; i < count; i++) {
        uint32_t class = class_of(c, text[i]), joined = 0;
        int is_free = starter == kept - 1 || (last != 0 && last < class);
        if (starter >= 0 && is_free) joined = pair(c, text[starter], text[i]);
        if (joined != 0) {
            text[starter] = joined;
            continue;
        }
        if (class == 0) starter = kept;
        last = class;
        text[kept++] = text[i];
    }
    return kept;
}

int32_t tw_composed(const tw_composition *c, const uint32_t *text, size_t length, uint32_t *out, size_t most) {
    int32_t count = 0;
    for (size_t i = 0; i < length; i++) {
        if ((size_t)count + DEEPEST > most) return -1;
        int32_t added = parts(c, text[i], out + count);
        for (int32_t j = 0; j < added; j++) sort_mark(c, out, count + j);
        count += added;
    }
    return put_together(c, out, count);
}
