/* The tokens of one word: symbols first, then merges, the lowest rank first and the leftmost of equal ones.

   A tree of winners has the next merge at its root, so that a word of n symbols takes n log n steps. */
#include "tokenizer_parts.h"

#define NO_RANK 0xFFFFFFFFu
#define NOTHING (-1)

typedef struct {
    int32_t *token, *previous, *next;
    uint32_t *rank; /* of the merge with the next symbol */
    uint32_t *winner;
    uint32_t count, most;
} symbols;

static uint32_t number(const tw_tokenizer *t, const void *numbers, uint32_t at) {
    return t->wide ? ((const uint32_t *)numbers)[at] : ((const uint16_t *)numbers)[at];
}

/* The merge of two tokens, or -1. */
static int32_t merge_of(const tw_tokenizer *t, int32_t left, int32_t right) {
    uint32_t low = number(t, t->merge_starts, (uint32_t)left), high = number(t, t->merge_starts, (uint32_t)left + 1);
    uint32_t end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (number(t, t->merge_rights, middle) < (uint32_t)right) low = middle + 1;
        else high = middle;
    }
    return low < end && number(t, t->merge_rights, low) == (uint32_t)right ? (int32_t)low : NOTHING;
}

static int32_t merged_token(const tw_tokenizer *t, uint32_t merge) {
    if (t->merge_results == NULL) return (int32_t)(number(t, t->merge_ranks, merge) + t->first_result);
    return (int32_t)number(t, t->merge_results, merge);
}

static uint32_t rank_at(const tw_tokenizer *t, const symbols *s, uint32_t place) {
    if (s->token[place] == NOTHING || s->next[place] == NOTHING) return NO_RANK;
    int32_t merge = merge_of(t, s->token[place], s->token[s->next[place]]);
    return merge == NOTHING ? NO_RANK : number(t, t->merge_ranks, (uint32_t)merge);
}

/* Of the symbols below a node of the tree: node i has 2 i and 2 i + 1 below it, symbols are the nodes from count on. */
static uint32_t winner_below(const symbols *s, uint32_t node) {
    return node >= s->count ? node - s->count : s->winner[node];
}

static void play(symbols *s, uint32_t node) {
    uint32_t a = winner_below(s, 2 * node), b = winner_below(s, 2 * node + 1);
    int a_wins = s->rank[a] < s->rank[b] || (s->rank[a] == s->rank[b] && a < b);
    s->winner[node] = a_wins ? a : b;
}

static void set_rank(symbols *s, uint32_t place, uint32_t rank) {
    s->rank[place] = rank;
    for (uint32_t node = (place + s->count) / 2; node >= 1; node /= 2) play(s, node);
}

static int32_t add(symbols *s, int32_t token) {
    if (token == NOTHING) return 0;
    if (s->count == s->most) return TW_TOKENIZER_SCRATCH;
    s->token[s->count++] = token;
    return 0;
}

static int32_t add_bytes(const tw_tokenizer *t, symbols *s, uint32_t code) {
    uint8_t bytes[4];
    int32_t count = tw_utf8_bytes(code, bytes), problem = 0;
    for (int32_t i = 0; i < count && problem == 0; i++) problem = add(s, t->bytes[bytes[i]]);
    return problem;
}

static int32_t fill(const tw_tokenizer *t, symbols *s, const uint32_t *word, size_t length) {
    int was_unknown = 0;
    int32_t problem = 0;
    for (size_t i = 0; i < length && problem == 0; i++) {
        int32_t place = tw_last_at_most(t->characters, t->character_count, 0, word[i]);
        int is_known = place >= 0 && t->characters[place] == word[i], is_unknown = !is_known && t->bytes == NULL;
        if (is_known) problem = add(s, t->character_tokens[place]);
        else if (!is_unknown) problem = add_bytes(t, s, word[i]);
        else if (!(was_unknown && t->fuses_unknown)) problem = add(s, t->unknown);
        was_unknown = is_unknown;
    }
    return problem;
}

static void merge_all(const tw_tokenizer *t, symbols *s) {
    for (uint32_t i = 0; i < s->count; i++) {
        s->previous[i] = (int32_t)i - 1;
        s->next[i] = i + 1 < s->count ? (int32_t)i + 1 : NOTHING;
    }
    for (uint32_t i = 0; i < s->count; i++) s->rank[i] = rank_at(t, s, i);
    for (uint32_t node = s->count - 1; node >= 1; node--) play(s, node);
    for (uint32_t left = s->winner[1]; s->rank[left] != NO_RANK; left = s->winner[1]) {
        int32_t right = s->next[left], merge = merge_of(t, s->token[left], s->token[right]);
        s->token[left] = merged_token(t, (uint32_t)merge);
        s->token[right] = NOTHING;
        s->next[left] = s->next[right];
        if (s->next[left] != NOTHING) s->previous[s->next[left]] = (int32_t)left;
        set_rank(s, (uint32_t)right, NO_RANK);
        set_rank(s, left, rank_at(t, s, left));
        if (s->previous[left] != NOTHING)
            set_rank(s, (uint32_t)s->previous[left], rank_at(t, s, (uint32_t)s->previous[left]));
    }
}

static int compare(const uint32_t *a, size_t a_length, const uint32_t *b, size_t b_length) {
    size_t i = 0;
    while (i < a_length && i < b_length && a[i] == b[i]) i++;
    if (i < a_length && i < b_length) return a[i] < b[i] ? -1 : 1;
    return (a_length > b_length) - (a_length < b_length);
}

/* The token of a word that is one as a whole, or -1. */
static int32_t whole_word(const tw_tokenizer *t, const uint32_t *word, size_t length) {
    uint32_t low = 0, high = t->whole_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, start = t->whole_starts[middle];
        int order = compare(t->whole_text + start, t->whole_starts[middle + 1] - start, word, length);
        if (order == 0) return t->whole_tokens[middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NOTHING;
}

static int32_t output(const symbols *s, int32_t *tokens, int32_t most) {
    int32_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->token[i] == NOTHING) continue;
        if (count == most) return TW_TOKENIZER_FULL;
        tokens[count++] = s->token[i];
    }
    return count;
}

int32_t tw_word_tokens(
    const tw_tokenizer *t, const uint32_t *word, size_t length, int32_t *tokens, int32_t most, uint32_t *scratch,
    size_t scratch_words
) {
    size_t room = scratch_words / TW_SYMBOL_WORDS;
    int32_t *numbers = (int32_t *)scratch, whole = whole_word(t, word, length);
    symbols s = {numbers, numbers + room, numbers + 2 * room, scratch + 3 * room, scratch + 4 * room, 0, 0};
    s.most = (uint32_t)room;
    int32_t problem = whole == NOTHING ? fill(t, &s, word, length) : room > 0 ? add(&s, whole) : TW_TOKENIZER_SCRATCH;
    if (problem < 0) return problem;
    if (s.count > 1) merge_all(t, &s);
    return output(&s, tokens, most);
}
