/* Reads a text from its arguments and prints how it goes on: main "Once upon a time" [tokens]. Where weights are a file,
 * its name is the first argument. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "talk.h"

enum { TOKENS = 100 };

static TW_LM_FUNCTION(context) context;
/* C99 has no alignment attribute: the array has spare bytes, and contexts begin at its first aligned byte. On a
 * computer, pages that are never touched take no memory. */
static unsigned char memory[TW_LM_MEMORY_BYTES + TW_LM_ALIGNMENT];

static int32_t number(const char *word) {
  char *end;
  const long value = strtol(word, &end, 10);
  return *end != 0 || value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

static int complain(const char *what) {
  fprintf(stderr, "%s\n", what);
  return 2;
}

static void *aligned(void) {
  return memory + (TW_LM_ALIGNMENT - (uintptr_t)memory % TW_LM_ALIGNMENT) % TW_LM_ALIGNMENT;
}

#if TW_LM_MAPPED
static TW_LM_FUNCTION(model) model;

static int begin(const char *path) {
  if (TW_LM_FUNCTION(open)(&model, path) != 0) return -1;
  return TW_LM_FUNCTION(begin)(&context, &model, aligned(), TW_LM_MEMORY_BYTES);
}
#else
static int begin(const char *path) {
  (void)path;
  return TW_LM_FUNCTION(begin)(&context, aligned(), TW_LM_MEMORY_BYTES);
}
#endif

int main(int count, char **words) {
  /* The most likely token every time; sampler.h says what else there is. */
  tw_request request = {0, TOKENS, 1, {0, 0, TW_SAMPLER_ONE, TW_SAMPLER_ONE, 0}, {0, 0}};
  char **const text = words + 1 + TW_LM_MAPPED;
  const int more = count - 1 - TW_LM_MAPPED;
  if (more < 1 || more > 2)
    return complain(TW_LM_MAPPED ? "give the weights file, a text, and how many tokens should follow"
                                 : "give a text, and how many tokens should follow");
  if (more == 2) request.tokens = number(text[1]);
  if (request.tokens < 0) return complain("the last argument is no number of tokens");
  const size_t bytes = strlen(text[0]);
  if (bytes > TW_LM_TEXT_BYTES) return complain("the text is too long");
  request.text_bytes = (int32_t)bytes;
  if (begin(words[1]) != 0) return complain("the weights cannot be read, or are of another model");
  if (TW_LM_THREADS_START != 0) return complain("the system refuses threads");
  if (tw_talk_begin(&context, &request, text[0]) < 0) return complain("the text cannot be read");
  int32_t token;
  while ((token = tw_talk_next(&context, &request)) >= 0) {
    fwrite(tw_piece, 1, (size_t)tw_piece_bytes, stdout);
    fflush(stdout);
  }
  putchar('\n');
  return token == TW_TALK_END || token == TW_MODEL_FULL ? 0 : 1;
}
