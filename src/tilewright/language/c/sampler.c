/* The next token. What is kept of the vocabulary is everything above a limit and the first so many tokens at it; the
   limit is found by histograms of the distance to the best logit, eight bits at a time: nothing is sorted.

   Logits of 8 bits have 256 values, and 256 more for tokens that were seen: they are counted once, and all but the last
   walk are over these levels instead of the vocabulary. Of others, tokens that a small top-k has left are listed. */
#include "sampler.h"

#include <stddef.h>

#define LOG2_E UINT64_C(1586259972792) /* log2(e), / 2^40 */
#define MOST_TEMPERATURE (100 * TW_SAMPLER_ONE)
#define LEAST_PENALTY (TW_SAMPLER_ONE / 4)
#define MOST_PENALTY (64 * TW_SAMPLER_ONE)
#define FRACTION_BITS 8                /* of logits of 8 and 16 bits, for what a penalty makes of them */
#define END (UINT64_C(31) << 40)       /* of exponents, / 2^40: from here on a weight is 0 */

/* 2^(-i / 64), / 2^30 */
static const uint32_t powers[65] = {
    1073741824, 1062175491, 1050733751, 1039415261, 1028218693, 1017142735, 1006186087, 995347464, 984625594, 974019220,
    963527098, 953147997, 942880699, 932724001, 922676710, 912737649, 902905651, 893179563, 883558244, 874040567,
    864625413, 855311680, 846098274, 836984114, 827968132, 819049271, 810226483, 801498734, 792865000, 784324269,
    775875538, 767517817, 759250125, 751071493, 742980960, 734977579, 727060411, 719228525, 711481005, 703816941,
    696235434, 688735596, 681316545, 673977412, 666717336, 659535466, 652430958, 645402981, 638450708, 631573326,
    624770026, 618040012, 611382493, 604796689, 598281827, 591837143, 585461881, 579155293, 572916640, 566745190,
    560640218, 554601009, 548626854, 542717053, 536870912
};

/* The tokens that may be drawn: all that are nearer to the best one than `limit`, and the first `ties` at it. */
typedef struct {
    uint32_t limit;
    uint64_t ties;
} kept_tokens;

/* What is walked over: tokens of the vocabulary; levels of 8 bits; a list of tokens that are kept. */
enum { TOKENS, LEVELS, LISTED };

typedef struct {
    tw_sampler *s;
    const tw_logits *logits;
    int32_t best;       /* the highest logit */
    uint32_t spread;    /* the largest distance to it */
    uint32_t reach;     /* the largest distance that has a weight */
    uint32_t step;      /* distance * step * 2^step_shift is an exponent, / 2^40 */
    int32_t step_shift;
    int32_t groups;
    int kind;
} draw;

/* Not every small processor divides 64 bits, and few programs want the library that does. */
static uint64_t divided(uint64_t number, uint64_t by) {
    uint64_t result = 0, rest = 0;
    for (int i = 0; i < 64; i++) {
        rest = rest << 1 | number >> 63;
        number <<= 1;
        result <<= 1;
        if (rest >= by) {
            rest -= by;
            result |= 1;
        }
    }
    return result;
}

static uint32_t random_word(tw_sampler *s) {
    uint64_t old = s->random;
    uint32_t mixed = (uint32_t)((old >> 18 ^ old) >> 27), turn = (uint32_t)(old >> 59);
    s->random = old * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return mixed >> turn | mixed << (-turn & 31u);
}

/* Each number below `end` as likely as the others: numbers of as many bits, until one is. */
static uint64_t random_below(tw_sampler *s, uint64_t end) {
    uint64_t mask = end - 1, number;
    mask |= mask >> 1, mask |= mask >> 2, mask |= mask >> 4, mask |= mask >> 8, mask |= mask >> 16, mask |= mask >> 32;
    do {
        number = (uint64_t)random_word(s) << 32;
        number = (number | random_word(s)) & mask;
    } while (number >= end);
    return number;
}

int32_t tw_sampler_init(
    tw_sampler *s, const tw_sampling *settings, uint64_t seed, int32_t vocabulary, uint32_t *seen
) {
    const tw_sampling *w = settings;
    if (w->temperature < 0 || w->temperature > MOST_TEMPERATURE) return TW_SAMPLER_BAD;
    if (w->top_k < 0 || vocabulary < 1) return TW_SAMPLER_BAD;
    if (w->top_p < 1 || w->top_p > TW_SAMPLER_ONE) return TW_SAMPLER_BAD;
    if (w->penalty < LEAST_PENALTY || w->penalty > MOST_PENALTY) return TW_SAMPLER_BAD;
    if (w->min_p < 0 || w->min_p > TW_SAMPLER_ONE) return TW_SAMPLER_BAD;
    if (w->penalty != TW_SAMPLER_ONE && seen == NULL) return TW_SAMPLER_BAD;
    s->settings = *w;
    s->vocabulary = vocabulary;
    s->seen = seen;
    for (int32_t i = 0; seen != NULL && i < TW_SAMPLER_SEEN_WORDS(vocabulary); i++) seen[i] = 0;
    s->inverse = divided(UINT64_C(1) << 46, (uint64_t)w->penalty);
    s->rate = w->temperature == 0 ? 0 : divided(LOG2_E, (uint64_t)w->temperature);
    s->random = 0;
    (void)random_word(s);
    s->random += seed;
    (void)random_word(s);
    return 0;
}

void tw_sampler_saw(tw_sampler *s, int32_t token) {
    if (s->seen != NULL && token >= 0 && token < s->vocabulary) s->seen[token / 32] |= UINT32_C(1) << (token % 32);
}

static int32_t raw(const tw_logits *l, int32_t token) {
    if (l->bits == 8) return ((const int8_t *)l->values)[token];
    return l->bits == 16 ? ((const int16_t *)l->values)[token] : ((const int32_t *)l->values)[token];
}

static int32_t clamped(int64_t value) {
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

/* A number without its zero point, with room for fractions. */
static int32_t value_of(const tw_logits *l, int32_t number) {
    if (l->bits == 32) return clamped((int64_t)number - l->zero_point);
    return (number - l->zero_point) * (1 << FRACTION_BITS);
}

static int32_t penalised(const tw_sampler *s, int32_t value) {
    return clamped(value > 0 ? (int64_t)value * (int64_t)s->inverse >> 30 : (int64_t)value * s->settings.penalty >> 16);
}

static int has_penalty(const tw_sampler *s) { return s->settings.penalty != TW_SAMPLER_ONE; }

static int is_seen(const tw_sampler *s, int32_t token) {
    return has_penalty(s) && (s->seen[(uint32_t)token / 32u] >> ((uint32_t)token % 32u) & 1u);
}

static int32_t logit(const tw_sampler *s, const tw_logits *l, int32_t token) {
    int32_t value = value_of(l, raw(l, token));
    return is_seen(s, token) ? penalised(s, value) : value;
}

static int32_t best_penalised(const tw_sampler *s, const tw_logits *l) {
    int32_t best = 0, highest = logit(s, l, 0);
    for (int32_t i = 1; i < s->vocabulary; i++) {
        int32_t value = logit(s, l, i);
        if (value > highest) highest = value, best = i;
    }
    return best;
}

#define FIRST_OF_THE_HIGHEST(name, type)                                                                               \
    static int32_t name(const type *values, int32_t count) {                                                           \
        int32_t best = 0, highest = values[0];                                                                         \
        for (int32_t i = 1; i < count; i++)                                                                            \
            if (values[i] > highest) highest = values[i], best = i;                                                    \
        return best;                                                                                                   \
    }
FIRST_OF_THE_HIGHEST(best_of_8, int8_t)
FIRST_OF_THE_HIGHEST(best_of_16, int16_t)
FIRST_OF_THE_HIGHEST(best_of_32, int32_t)

static int32_t greedy(const tw_sampler *s, const tw_logits *l) {
    if (has_penalty(s)) return best_penalised(s, l);
    if (l->bits == 8) return best_of_8(l->values, s->vocabulary);
    return l->bits == 16 ? best_of_16(l->values, s->vocabulary) : best_of_32(l->values, s->vocabulary);
}

/* `seen` is NULL where there is no penalty. */
static uint32_t level_of(const int8_t *values, const uint32_t *seen, uint32_t token) {
    uint32_t level = (uint32_t)(values[token] + 128);
    return seen != NULL && (seen[token / 32u] >> (token % 32u) & 1u) ? level + 256u : level;
}

static int32_t level_value(const tw_sampler *s, const tw_logits *l, int32_t level) {
    int32_t value = value_of(l, level % 256 - 128);
    return level < 256 ? value : penalised(s, value);
}

static void count_levels(draw *d) {
    tw_sampler *s = d->s;
    const uint32_t *seen = has_penalty(s) ? s->seen : NULL, vocabulary = (uint32_t)s->vocabulary;
    const int8_t *values = d->logits->values;
    for (int32_t i = 0; i < TW_SAMPLER_LEVELS; i++) s->counts[i] = 0;
    for (uint32_t i = 0; i < vocabulary; i++) s->counts[level_of(values, seen, i)]++;
    for (int32_t i = 0; i < TW_SAMPLER_LEVELS; i++) {
        int32_t value = level_value(s, d->logits, i);
        if (s->counts[i] != 0 && value > d->best) d->best = value;
        s->distances[i] = (uint32_t)value;
    }
    for (int32_t i = 0; i < TW_SAMPLER_LEVELS; i++) {
        s->distances[i] = (uint32_t)d->best - s->distances[i];
        if (s->counts[i] != 0 && s->distances[i] > d->spread) d->spread = s->distances[i];
    }
}

static void find_best(draw *d) {
    int32_t lowest = INT32_MAX;
    for (int32_t i = 0; i < d->s->vocabulary; i++) {
        int32_t value = logit(d->s, d->logits, i);
        if (value > d->best) d->best = value;
        if (value < lowest) lowest = value;
    }
    d->spread = (uint32_t)d->best - (uint32_t)lowest;
}

static uint32_t group_distance(const draw *d, int32_t group) {
    if (d->kind != TOKENS) return d->s->distances[group];
    return (uint32_t)d->best - (uint32_t)logit(d->s, d->logits, group);
}

static uint32_t group_count(const draw *d, int32_t group) { return d->kind == LEVELS ? d->s->counts[group] : 1; }

/* What a distance of one is worth as an exponent of two: the logits' scale / temperature * log2(e). */
static void set_step(draw *d) {
    uint64_t rate = d->s->rate, step;
    int32_t shift = 16 - d->logits->shift - (d->logits->bits == 32 ? 0 : FRACTION_BITS);
    for (; rate >> 32 != 0; rate >>= 1) shift++;
    step = rate * (uint64_t)d->logits->multiplier;
    for (; step >> 31 != 0; step >>= 1) shift++;
    d->step = (uint32_t)step;
    d->step_shift = shift < -63 ? -63 : shift > 63 ? 63 : shift;
}

static void set_reach(draw *d) {
    int32_t shift = d->step_shift;
    uint64_t end = shift >= 0 ? (END - 1) >> shift : shift > -19 ? (END << -shift) - 1 : UINT64_MAX;
    uint64_t reach = divided(end, d->step);
    d->reach = reach > UINT32_MAX ? UINT32_MAX : (uint32_t)reach;
}

/* exp(-distance * scale / temperature), / 2^30: a power of two, with straight lines between 64 of them. */
static uint32_t weight(const draw *d, uint32_t below) {
    if (below > d->reach) return 0;
    uint64_t product = (uint64_t)below * d->step;
    uint64_t exponent = d->step_shift >= 0 ? product << d->step_shift : product >> -d->step_shift;
    uint32_t fraction = (uint32_t)(exponent >> 8), i = fraction >> 26, rest = fraction & 0x3FFFFFFu;
    uint32_t fall = (uint32_t)((uint64_t)(powers[i] - powers[i + 1]) * rest >> 26);
    return (powers[i] - fall) >> (uint32_t)(exponent >> 40);
}

/* How many tokens, or how much weight, there is at distances up to a limit, by eight of their bits below a prefix. */
static void fill_bins(draw *d, uint32_t prefix, int shift, int by_weight, uint32_t limit) {
    uint64_t *bins = d->s->bins;
    for (int i = 0; i < 256; i++) bins[i] = 0;
    for (int32_t i = 0; i < d->groups; i++) {
        uint32_t below = group_distance(d, i), count = group_count(d, i);
        if (count == 0 || below > limit || (shift < 24 && (below ^ prefix) >> (shift + 8))) continue;
        bins[below >> shift & 255u] += by_weight ? (uint64_t)count * weight(d, below) : count;
    }
}

/* The best tokens that are so many, or that weigh so much together; up to the limit there is that much. */
static kept_tokens best_tokens(draw *d, uint64_t amount, int by_weight, uint32_t limit) {
    uint32_t prefix = 0, furthest = limit < d->spread ? limit : d->spread;
    int shift = 24;
    while (shift > 0 && furthest >> shift == 0) shift -= 8;
    for (; shift >= 0; shift -= 8) {
        uint32_t bin = 0;
        fill_bins(d, prefix, shift, by_weight, limit);
        for (; bin < 255 && amount > d->s->bins[bin]; bin++) amount -= d->s->bins[bin];
        prefix |= bin << shift;
    }
    uint32_t each = by_weight ? weight(d, prefix) : 1;
    kept_tokens kept = {prefix, divided(amount + each - 1, each)};
    return kept;
}

static uint64_t total(const draw *d, kept_tokens kept) {
    uint64_t sum = 0, at_limit = 0;
    for (int32_t i = 0; i < d->groups; i++) {
        uint32_t below = group_distance(d, i), count = group_count(d, i);
        if (count == 0 || below > kept.limit) continue;
        if (below == kept.limit) at_limit += count;
        else sum += (uint64_t)count * weight(d, below);
    }
    return sum + (at_limit < kept.ties ? at_limit : kept.ties) * weight(d, kept.limit);
}

/* ceil(weight * top_p), without a product of more than 64 bits. */
static uint64_t share(uint64_t weight, int32_t top_p) {
    uint64_t p = (uint64_t)top_p, low = (weight & 0xFFFFu) * p;
    return (weight >> 16) * p + ((low + 0xFFFFu) >> 16);
}

static int is_kept(kept_tokens *kept, uint32_t below) {
    if (below > kept->limit || (below == kept->limit && kept->ties == 0)) return 0;
    if (below == kept->limit) kept->ties--;
    return 1;
}

/* From here on only the tokens that are kept are walked over, which are no more than there are levels. */
static void list_kept(draw *d, kept_tokens kept) {
    tw_sampler *s = d->s;
    int32_t count = 0;
    for (int32_t i = 0; i < s->vocabulary; i++) {
        uint32_t below = group_distance(d, i);
        if (!is_kept(&kept, below)) continue;
        s->counts[count] = (uint32_t)i;
        s->distances[count++] = below;
    }
    d->groups = count;
    d->kind = LISTED;
}

static int32_t drawn_token(const draw *d, kept_tokens kept, uint64_t place) {
    int32_t i = 0;
    for (; i < d->groups - 1; i++) {
        uint32_t below = group_distance(d, i), each = is_kept(&kept, below) ? weight(d, below) : 0;
        if (place < each) break;
        place -= each;
    }
    return d->kind == LISTED ? (int32_t)d->s->counts[i] : i;
}

static int32_t drawn_by_level(const draw *d, kept_tokens kept, uint64_t place) {
    tw_sampler *s = d->s;
    const uint32_t *seen = has_penalty(s) ? s->seen : NULL, last = (uint32_t)s->vocabulary - 1;
    const int8_t *values = d->logits->values;
    /* Levels have been counted: what each of their tokens weighs takes the place of how many there are. */
    for (int32_t i = 0; i < TW_SAMPLER_LEVELS; i++)
        s->counts[i] = s->counts[i] == 0 || s->distances[i] > kept.limit ? 0 : weight(d, s->distances[i]);
    for (uint32_t i = 0; i < last; i++) {
        uint32_t level = level_of(values, seen, i), each = s->counts[level];
        if (each == 0 || !is_kept(&kept, s->distances[level])) continue;
        if (place < each) return (int32_t)i;
        place -= each;
    }
    return (int32_t)last;
}

static kept_tokens most_likely(draw *d, uint64_t count) {
    kept_tokens kept = best_tokens(d, count, 0, UINT32_MAX);
    if (d->kind == TOKENS && count <= TW_SAMPLER_LEVELS) list_kept(d, kept);
    return kept;
}

/* Tokens that weigh at least so much: weights fall with the distance, so that a search finds the last one. */
static kept_tokens heavy_tokens(const draw *d, kept_tokens kept, uint32_t least) {
    uint32_t reached = 0, beyond = kept.limit < d->reach ? kept.limit : d->reach;
    if (weight(d, beyond) >= least) return kept;
    while (beyond - reached > 1) {
        uint32_t middle = reached + (beyond - reached) / 2;
        if (weight(d, middle) >= least) reached = middle;
        else beyond = middle;
    }
    kept.limit = reached;
    kept.ties = (uint64_t)d->s->vocabulary;
    return kept;
}

static int32_t sampled(tw_sampler *s, const tw_logits *l) {
    int kind = l->bits == 8 ? LEVELS : TOKENS;
    draw d = {s, l, INT32_MIN, 0, 0, 0, 0, kind == LEVELS ? TW_SAMPLER_LEVELS : s->vocabulary, kind};
    set_step(&d);
    set_reach(&d);
    if (kind == LEVELS) count_levels(&d);
    else find_best(&d);
    kept_tokens kept = {d.reach, (uint64_t)s->vocabulary};
    int32_t k = s->settings.top_k;
    if (k > 0 && k < s->vocabulary) kept = most_likely(&d, (uint64_t)k);
    uint64_t sum = total(&d, kept);
    if (s->settings.top_p < TW_SAMPLER_ONE) {
        kept = best_tokens(&d, share(sum, s->settings.top_p), 1, kept.limit < d.reach ? kept.limit : d.reach);
        sum = total(&d, kept);
    }
    if (s->settings.min_p > 0) {
        kept = heavy_tokens(&d, kept, (uint32_t)s->settings.min_p << 14);
        sum = total(&d, kept);
    }
    uint64_t place = random_below(s, sum);
    return kind == LEVELS ? drawn_by_level(&d, kept, place) : drawn_token(&d, kept, place);
}

int32_t tw_sampler_next(tw_sampler *s, const tw_logits *l) {
    if (l->bits != 8 && l->bits != 16 && l->bits != 32) return TW_SAMPLER_BAD;
    if (l->multiplier < 1 || l->multiplier >= 1 << 30 || l->shift < 0 || l->shift > 62) return TW_SAMPLER_BAD;
    return s->settings.temperature == 0 || s->settings.top_k == 1 ? greedy(s, l) : sampled(s, l);
}
