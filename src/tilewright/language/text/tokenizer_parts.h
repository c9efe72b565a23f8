/* What the files of the tokenizer have of each other. */
#ifndef TW_TOKENIZER_PARTS_H
#define TW_TOKENIZER_PARTS_H

#include "tokenizer.h"

#define TW_RAW_BYTE 0xDC00u  /* + byte: a byte that is no part of a character, as a character that UTF-8 cannot have */
#define TW_WHITESPACE 31     /* the set of it */
#define TW_SYMBOL_WORDS 5    /* of scratch memory for each symbol of a word */
#define TW_ROOM_IN_FRONT 2   /* characters that may come before a piece of text */

/* The character at a place of a text, and its bytes. */
uint32_t tw_utf8_character(const uint8_t *text, size_t left, size_t *bytes);

/* The bytes of a character; gives their number. */
int32_t tw_utf8_bytes(uint32_t code, uint8_t bytes[4]);

/* The last of sorted numbers, shifted down, that is not above a value; -1 if all are. */
int32_t tw_last_at_most(const uint32_t *numbers, uint32_t count, uint32_t shift, uint32_t value);

int tw_in_set(const tw_tokenizer *t, uint32_t code, uint32_t set);

/* Where the word ends that begins at a place of characters, as one split has it; it is dropped if it is none. */
size_t tw_word_end(
    const tw_tokenizer *t, const tw_split *split, const uint32_t *text, size_t at, size_t end, int *is_word
);

/* A word's tokens into `tokens`; gives their number or what went wrong. */
int32_t tw_word_tokens(
    const tw_tokenizer *t, const uint32_t *word, size_t length, int32_t *tokens, int32_t most, uint32_t *scratch,
    size_t scratch_words
);

/* Characters in Unicode's form C; gives their number, or -1 if there is no room for the characters in between. */
int32_t tw_composed(const tw_composition *c, const uint32_t *text, size_t length, uint32_t *out, size_t most);

#endif
