#include "talk.h"

#include "words.h"

char tw_piece[TW_LM_LONGEST_PIECE + 1];
int32_t tw_piece_bytes;

static int32_t tokens[TW_LM_CONTEXT + 1];
static uint32_t scratch[TW_LM_SCRATCH_WORDS];
static tw_tokenizer_stream stream;
static int32_t left, ended;

static int32_t is_end(int32_t token) {
  for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (token == ends[i]) return 1;
  return 0;
}

/* Tokens of the text count for the spaces at a text's start, but are not printed again. */
static void pass_over(int32_t count) {
  const tw_tokenizer_stream start = {0, 0, 0};
  stream = start;
  for (int32_t i = 0; i < count; i++)
    tw_tokenizer_decode(&TW_LM_TOKENIZER, &stream, tokens[i], tw_piece, TW_LM_LONGEST_PIECE);
}

int32_t tw_talk_begin(TW_LM_FUNCTION(context) *context, const tw_request *request, const char *text) {
  TW_LM_FUNCTION(reset)(context);
  const uint64_t seed = (uint64_t)request->seed[1] << 32 | request->seed[0];
  const int32_t status = TW_LM_FUNCTION(sampling)(context, &request->sampling, seed);
  if (status != 0) return status;
  const int32_t count = tw_tokenizer_encode(
      &TW_LM_TOKENIZER, text, (size_t)request->text_bytes, 1, tokens, TW_LM_CONTEXT, scratch, TW_LM_SCRATCH_WORDS);
  if (count < 0) return count;
  const int32_t read = TW_LM_FUNCTION(prompt)(context, tokens, count);
  if (read != 0) return read;
  pass_over(count);
  left = request->tokens;
  ended = 0;
  return count;
}

int32_t tw_talk_next(TW_LM_FUNCTION(context) *context, const tw_request *request) {
  if (left <= 0 || ended) return TW_TALK_END;
  const int32_t token = TW_LM_FUNCTION(next)(context);
  tw_piece_bytes = 0;
  if (token < 0) return token;
  left--;
  ended = request->stops && is_end(token);
  tw_piece_bytes = tw_tokenizer_decode(&TW_LM_TOKENIZER, &stream, token, tw_piece, TW_LM_LONGEST_PIECE);
  return token;
}
