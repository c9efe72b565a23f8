/* Text to tokens: added tokens first, then words of what stands between them; and tokens to text. */
#include "tokenizer.h"

#include "tokenizer_parts.h"

#define MOST_SPLITS 8

/* What is encoded, where to, and with which memory. */
typedef struct {
    const tw_tokenizer *t;
    int32_t *tokens;
    int32_t count, most;
    uint32_t *composed; /* room for characters in form C */
    size_t composed_room;
    uint32_t *scratch; /* for words */
    size_t scratch_words;
} encoder;

static int32_t put(encoder *e, int32_t token) {
    if (e->count == e->most) return TW_TOKENIZER_FULL;
    e->tokens[e->count++] = token;
    return 0;
}

static int32_t put_all(encoder *e, const int32_t *tokens, uint32_t count) {
    int32_t problem = 0;
    for (uint32_t i = 0; i < count && problem == 0; i++) problem = put(e, tokens[i]);
    return problem;
}

static int32_t put_word(encoder *e, const uint32_t *word, size_t length) {
    int32_t *to = e->tokens + e->count, room = e->most - e->count;
    int32_t found = tw_word_tokens(e->t, word, length, to, room, e->scratch, e->scratch_words);
    if (found > 0) e->count += found;
    return found < 0 ? found : 0;
}

/* Each split cuts what the ones before it have left; a word is what is left of all of them. */
static int32_t put_words(encoder *e, const uint32_t *text, size_t length) {
    const tw_tokenizer *t = e->t;
    size_t ends[MOST_SPLITS + 1] = {length}, at = 0;
    int is_word[MOST_SPLITS + 1] = {1};
    int32_t problem = 0;
    for (uint32_t i = 1; i <= t->split_count; i++) ends[i] = 0;
    while (at < length && problem == 0) {
        for (uint32_t i = 1; i <= t->split_count; i++)
            if (ends[i] == at) {
                ends[i] = tw_word_end(t, t->splits + i - 1, text, at, ends[i - 1], &is_word[i]);
                is_word[i] = is_word[i] && is_word[i - 1];
            }
        size_t end = ends[t->split_count];
        if (is_word[t->split_count]) problem = put_word(e, text + at, end - at);
        at = end;
    }
    return problem;
}

static void replace_spaces(uint32_t *text, size_t length, uint32_t space) {
    for (size_t i = 0; i < length && space != 0; i++)
        if (text[i] == ' ') text[i] = space;
}

/* Between added tokens. What stands before the text has been encoded: its place is free for a prefix. */
static int32_t put_piece(encoder *e, uint32_t *text, size_t length, int is_first) {
    const tw_tokenizer *t = e->t;
    int is_wanted = t->word_scheme == TW_ALWAYS || (t->word_scheme == TW_FIRST && is_first);
    replace_spaces(text, length, t->word_space);
    if (is_wanted && text[0] != t->word_prefix) {
        *--text = t->word_prefix;
        length++;
    }
    return put_words(e, text, length);
}

static int is_added(const tw_tokenizer *t, const tw_added *one, const uint32_t *text, size_t left) {
    const uint32_t *wanted = t->added_text + one->text;
    if (one->length > left) return 0;
    for (uint32_t i = 0; i < one->length; i++)
        if (text[i] != wanted[i]) return 0;
    return 1;
}

/* The longest added token at a place, or NULL. */
static const tw_added *added_at(const tw_tokenizer *t, const tw_added_list *list, const uint32_t *text, size_t left) {
    if (!(list->first_bits >> (text[0] & 31u) & 1u)) return NULL;
    for (uint32_t i = 0; i < list->count; i++)
        if (is_added(t, &list->tokens[i], text, left)) return &list->tokens[i];
    return NULL;
}

typedef int32_t (*on_text)(encoder *e, uint32_t *text, size_t length, int is_first);

/* Added tokens of a list and, by a function, what stands between them. */
static int32_t put_parts(
    encoder *e, const tw_added_list *list, uint32_t *text, size_t length, int is_first, on_text between
) {
    size_t done = 0, at = 0;
    int32_t problem = 0;
    while (at < length && problem == 0) {
        const tw_added *one = added_at(e->t, list, text + at, length - at);
        if (one == NULL) {
            at++;
            continue;
        }
        size_t start = at, end = at + one->length;
        if (one->strips & TW_STRIPS_LEFT)
            while (start > done && tw_in_set(e->t, text[start - 1], TW_WHITESPACE)) start--;
        if (one->strips & TW_STRIPS_RIGHT)
            while (end < length && tw_in_set(e->t, text[end], TW_WHITESPACE)) end++;
        at += one->length;
        if (done < start) problem = between(e, text + done, start - done, is_first && done == 0);
        if (problem == 0) problem = put(e, one->token);
        done = end;
    }
    if (done < length && problem == 0) problem = between(e, text + done, length - done, is_first && done == 0);
    return problem;
}

static int32_t put_normalised(encoder *e, uint32_t *text, size_t length, int is_first) {
    const tw_tokenizer *t = e->t;
    if (t->composition != NULL) {
        uint32_t *out = e->composed + TW_ROOM_IN_FRONT;
        int32_t count = tw_composed(t->composition, text, length, out, e->composed_room - TW_ROOM_IN_FRONT);
        if (count < 0) return TW_TOKENIZER_SCRATCH;
        text = out;
        length = (size_t)count;
    }
    if (t->normal_prefix != 0) {
        *--text = t->normal_prefix;
        length++;
    }
    replace_spaces(text, length, t->normal_space);
    return put_parts(e, &t->added_normalised, text, length, is_first, put_piece);
}

static size_t decoded(const char *text, size_t length, uint32_t *characters) {
    size_t count = 0, bytes = 0;
    for (size_t at = 0; at < length; at += bytes)
        characters[count++] = tw_utf8_character((const uint8_t *)text + at, length - at, &bytes);
    return count;
}

/* Characters take at most one word for each byte; in between, while they are composed, two. */
static size_t character_words(size_t length) { return length + TW_ROOM_IN_FRONT; }
static size_t composed_words(const tw_tokenizer *t, size_t length) {
    return t->composition == NULL ? 0 : 2 * length + 8 + TW_ROOM_IN_FRONT;
}

size_t tw_tokenizer_scratch_words(const tw_tokenizer *t, size_t length) {
    size_t bytes = (t->composition == NULL ? length : 3 * length) + 4 * TW_ROOM_IN_FRONT;
    return character_words(length) + composed_words(t, length) + TW_SYMBOL_WORDS * bytes;
}

int32_t tw_tokenizer_encode(
    const tw_tokenizer *t, const char *text, size_t length, int32_t special, int32_t *tokens, int32_t most,
    uint32_t *scratch, size_t scratch_words
) {
    if (length > TW_TOKENIZER_LONGEST) return TW_TOKENIZER_LENGTH;
    size_t used = character_words(length) + composed_words(t, length);
    if (scratch_words < used) return TW_TOKENIZER_SCRATCH;
    uint32_t *characters = scratch + TW_ROOM_IN_FRONT;
    encoder e = {t, tokens, 0, most, scratch + character_words(length), composed_words(t, length), scratch + used,
                 scratch_words - used};
    int32_t problem = special ? put_all(&e, t->prefix, t->prefix_count) : 0;
    if (problem == 0)
        problem = put_parts(&e, &t->added, characters, decoded(text, length, characters), 1, put_normalised);
    if (problem == 0 && special) problem = put_all(&e, t->suffix, t->suffix_count);
    return problem < 0 ? problem : e.count;
}

static int is_special(const tw_tokenizer *t, int32_t token) {
    uint32_t low = 0, high = t->special_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->special[middle] < token) low = middle + 1;
        else high = middle;
    }
    return low < t->special_count && t->special[low] == token;
}

/* Whether a text's start loses this byte. */
static int is_dropped(const tw_tokenizer *t, tw_tokenizer_stream *stream, uint8_t byte) {
    if (t->dropped_spaces < 0) return byte == ' ' && stream->tokens == 0;
    if (byte != ' ' || stream->spaces >= t->dropped_spaces) stream->began = 1;
    if (stream->began) return 0;
    stream->spaces++;
    return 1;
}

int32_t tw_tokenizer_decode(
    const tw_tokenizer *t, tw_tokenizer_stream *stream, int32_t token, char *out, int32_t most
) {
    int32_t count = 0;
    tw_tokenizer_stream next = *stream;
    if (token < 0 || token >= t->vocabulary || is_special(t, token)) return 0;
    for (uint32_t i = t->piece_starts[token]; i < t->piece_starts[token + 1]; i++) {
        if (is_dropped(t, &next, t->pieces[i])) continue;
        if (count == most) return TW_TOKENIZER_FULL;
        out[count++] = (char)t->pieces[i];
    }
    if (next.tokens == 0) next.tokens = 1;
    *stream = next;
    return count;
}
