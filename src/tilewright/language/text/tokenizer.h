/* Text to tokens and back, by byte pair encoding: C99, no heap, no floating point; all tables are constant.

   Text is bytes. A byte that is no part of a character in UTF-8 counts as a character of its own, which is neither a
   letter nor a digit nor a space. */
#ifndef TW_TOKENIZER_H
#define TW_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

enum {
    TW_TOKENIZER_FULL = -1,    /* there are more tokens, or bytes, than the caller has room for */
    TW_TOKENIZER_SCRATCH = -2, /* the scratch memory is too small for this text */
    TW_TOKENIZER_LENGTH = -3   /* the text is longer than TW_TOKENIZER_LONGEST */
};

#define TW_TOKENIZER_LONGEST 0x1000000 /* bytes of a text */

#define TW_MANY 255   /* of a repetition: as often as possible */
#define TW_NO_SET 255 /* of an alternative: anything may follow */

/* A pattern is alternatives, the first that matches wins; an alternative is items in a row; an item is characters of
   one set, as many as possible. */
typedef struct {
    uint8_t set, least, most;
} tw_item;

typedef struct {
    uint8_t first_item, items;
    uint8_t barred;            /* what must not follow */
    uint8_t first_tail, tails; /* alternatives of which the first that follows belongs to the match */
} tw_alternative;

enum { TW_ISOLATED, TW_REMOVED, TW_MERGED_WITH_PREVIOUS, TW_MERGED_WITH_NEXT };

typedef struct {
    uint8_t first_alternative, alternatives, behaviour;
} tw_split;

enum { TW_STRIPS_LEFT = 1, TW_STRIPS_RIGHT = 2 };

/* A token that is looked for in the text before anything else. */
typedef struct {
    int32_t token;
    uint32_t text; /* where its characters begin in added_text */
    uint16_t length;
    uint16_t strips; /* whitespace that belongs to it */
} tw_added;

/* The longer ones come first. */
typedef struct {
    const tw_added *tokens;
    uint32_t count;
    uint32_t first_bits; /* bit (c % 32) for every first character c */
} tw_added_list;

/* Unicode's canonical decompositions and compositions. */
typedef struct {
    const uint32_t *code, *first, *second; /* by code; second 0: a single character */
    const uint16_t *composed;              /* those that are composed again, by first and second */
    const uint32_t *classes;               /* code << 8 | combining class, from this code on */
    uint32_t codes, compositions, class_ranges;
} tw_composition;

enum { TW_NEVER, TW_FIRST, TW_ALWAYS };

typedef struct {
    int32_t vocabulary; /* one more than the highest token */
    int32_t unknown;    /* -1: characters without a token are left out */
    int32_t fuses_unknown;
    const uint32_t *piece_starts; /* [vocabulary + 1] */
    const uint8_t *pieces;        /* what each token stands for */
    const int32_t *special;       /* sorted: tokens that stand for nothing */
    uint32_t special_count;
    const uint32_t *characters; /* sorted: characters that have a token */
    const int32_t *character_tokens;
    uint32_t character_count;
    const int32_t *bytes; /* [256]: tokens of bytes for all other characters, or NULL */
    /* Merges by their left token; of each, by their right one. Numbers have 32 bits if wide, else 16. */
    const void *merge_starts; /* [vocabulary + 1] */
    const void *merge_rights;
    const void *merge_ranks;
    const void *merge_results; /* NULL: rank + first_result */
    uint32_t first_result;
    int32_t wide;
    /* Words that are a token although merges do not lead to it, sorted. */
    const uint32_t *whole_starts, *whole_text;
    const int32_t *whole_tokens;
    uint32_t whole_count;
    tw_added_list added, added_normalised;
    const uint32_t *added_text;
    const tw_composition *composition; /* NULL: text is taken as it is */
    uint32_t normal_prefix, normal_space; /* characters in front and for each space; 0: none */
    uint32_t word_prefix, word_space, word_scheme;
    const uint32_t *set_ranges; /* code << 8 | row of set_rows, from this code on */
    uint32_t set_range_count;
    const uint32_t *set_rows; /* a bit for every set that has the character; bit 31 is whitespace */
    const tw_item *items;
    const tw_alternative *alternatives;
    const tw_split *splits;
    uint32_t split_count;
    const int32_t *prefix, *suffix; /* tokens before and behind every text */
    uint32_t prefix_count, suffix_count;
    int32_t dropped_spaces; /* spaces that a decoded text loses at its start; -1: all of its first token */
} tw_tokenizer;

/* Words of scratch memory that a text of some bytes may need at most. */
size_t tw_tokenizer_scratch_words(const tw_tokenizer *t, size_t length);

/* The tokens of a text; with `special`, also those before and behind it. Gives their number, or one of the numbers
   above below 0. `scratch` has `scratch_words` words: what tw_tokenizer_scratch_words() says is always enough; less
   is, where words are short: 5 words for each byte of the longest one, and a word for each byte of the text. */
int32_t tw_tokenizer_encode(
    const tw_tokenizer *t, const char *text, size_t length, int32_t special, int32_t *tokens, int32_t most,
    uint32_t *scratch, size_t scratch_words
);

/* Where the first byte is that is no part of a character in UTF-8; the length if there is none. */
size_t tw_tokenizer_invalid_byte(const char *text, size_t length);

/* What decoding remembers from token to token; all zero at the start of a text. */
typedef struct {
    int32_t tokens; /* decoded so far, special ones not counted */
    int32_t spaces; /* dropped so far */
    int32_t began;  /* something else than dropped spaces has been decoded */
} tw_tokenizer_stream;

/* The bytes that the next token of a text adds to it, into `out`; gives their number (0 for special tokens and for
   numbers that are no token), or TW_TOKENIZER_FULL and has decoded nothing. A character may be spread over tokens. */
int32_t tw_tokenizer_decode(
    const tw_tokenizer *t, tw_tokenizer_stream *stream, int32_t token, char *out, int32_t most
);

#endif
