/* A text read, and the next tokens as text, one by one: what the program on the chip and the one on the host share. */
#ifndef TW_TALK_H
#define TW_TALK_H

#include <stdint.h>

#include "calls.h"
#include "sampler.h"

typedef struct {
  int32_t text_bytes; /* of the text to go on with */
  int32_t tokens;     /* to give at most */
  int32_t stops;      /* whether a token that ends texts is the last one */
  tw_sampling sampling;
  uint32_t seed[2]; /* lower word first */
} tw_request;

/* Reads the text into a context: gives the number of its tokens, or a number below 0 of language_model.h or
 * tokenizer.h. */
int32_t tw_talk_begin(TW_LM_FUNCTION(context) *context, const tw_request *request, const char *text);

/* The next token; TW_TALK_END behind the last one, or a number below 0 of language_model.h. */
int32_t tw_talk_next(TW_LM_FUNCTION(context) *context, const tw_request *request);

#define TW_TALK_END (-100)

/* What the last token adds to the text. */
extern char tw_piece[];
extern int32_t tw_piece_bytes;

#endif
