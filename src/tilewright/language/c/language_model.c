/* A language model: tokens are read, in blocks and one by one, and the next ones are given.
 *
 * model.h says how it is called; calls.h, which is generated, how its two networks are: one reads a block of tokens and
 * only fills the caches, the other one reads a token and gives the scores of the next. */
#include "model.h"

#include "calls.h"

static int32_t held;  /* tokens in the caches */
static int32_t given; /* the token that was given last and is not read yet, or NONE */
static int scored;    /* whether the scores are those of the next token */

enum { NONE = -1 };

void MODEL_FUNCTION(reset)(void) {
  held = 0;
  given = NONE;
  scored = 0;
  clear_caches();
  MODEL_FUNCTION(choose_greedily)();
}

int32_t MODEL_FUNCTION(length)(void) { return held + (given != NONE); }

static int32_t read_block(const int32_t *tokens) {
  for (int32_t i = 0; i < MODEL_BLOCK; i++) block[i] = tokens[i];
  position[0] = held;
  if (run_prefill() != 0) return MODEL_FAILED;
  held += MODEL_BLOCK;
  return 0;
}

static int32_t read_token(int32_t token) {
  block[0] = token;
  position[0] = held;
  if (run_decode() != 0) return MODEL_FAILED;
  held++;
  scored = 1;
  note_token(token);
  return 0;
}

static int has_all(const int32_t *tokens, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (tokens[i] < 0 || tokens[i] >= MODEL_WORDS) return 0;
  return 1;
}

int32_t MODEL_FUNCTION(prompt)(const int32_t *tokens, int32_t count) {
  if (count < 0 || MODEL_FUNCTION(length)() + count > MODEL_CONTEXT) return MODEL_FULL;
  if (!has_all(tokens, count)) return MODEL_UNKNOWN_TOKEN;
  int32_t status = 0, at = 0;
  if (given != NONE && count > 0) {
    status = read_token(given);
    given = NONE;
  }
  /* The last token is read alone: blocks give no scores. */
  for (; status == 0 && count - at > MODEL_BLOCK; at += MODEL_BLOCK) {
    status = read_block(tokens + at);
    for (int32_t i = 0; i < MODEL_BLOCK; i++) note_token(tokens[at + i]);
  }
  for (; status == 0 && at < count; at++) status = read_token(tokens[at]);
  return status;
}

int32_t MODEL_FUNCTION(next)(void) {
  if (given != NONE) {
    if (held >= MODEL_CONTEXT) return MODEL_FULL;
    if (read_token(given) != 0) return MODEL_FAILED;
    given = NONE;
  }
  if (!scored) return MODEL_NOTHING_READ;
  if (held >= MODEL_CONTEXT) return MODEL_FULL;
  given = choose_token();
  return given;
}
