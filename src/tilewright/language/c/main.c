/* Reads a text from its arguments and prints how it goes on: main "Once upon a time" [tokens]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "talk.h"

enum { TOKENS = 100 };

static int32_t number(const char *word) {
  char *end;
  const long value = strtol(word, &end, 10);
  return *end != 0 || value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

static int complain(const char *what) {
  fprintf(stderr, "%s\n", what);
  return 2;
}

int main(int count, char **words) {
  /* The most likely token every time; sampler.h says what else there is. */
  tw_request request = {0, TOKENS, 1, {0, 0, TW_SAMPLER_ONE, TW_SAMPLER_ONE}, {0, 0}};
  if (count < 2 || count > 3) return complain("give a text, and how many tokens should follow");
  if (count == 3) request.tokens = number(words[2]);
  if (request.tokens < 0) return complain("the second argument is no number of tokens");
  const size_t bytes = strlen(words[1]);
  if (bytes > TW_LM_TEXT_BYTES) return complain("the text is too long");
  request.text_bytes = (int32_t)bytes;
  if (tw_talk_begin(&request, words[1]) < 0) return complain("the text cannot be read");
  int32_t token;
  while ((token = tw_talk_next(&request)) >= 0) {
    fwrite(tw_piece, 1, (size_t)tw_piece_bytes, stdout);
    fflush(stdout);
  }
  putchar('\n');
  return token == TW_TALK_END || token == TW_MODEL_FULL ? 0 : 1;
}
