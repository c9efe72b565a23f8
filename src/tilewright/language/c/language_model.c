/* A language model: tokens are read, in blocks and one by one, and the next ones are given. All that is kept between
 * calls is in a context of the caller's.
 *
 * calls.h, which is generated, says how its networks are called: one that reads any number of tokens up to a block and
 * gives the scores of the next; or two, of which one reads a block of tokens and fills the caches, and the other one
 * reads a token and gives scores. */
#define TW_LM_CALLS
#include "calls.h"

enum { NONE = -1 };

typedef TW_LM_FUNCTION(context) context;

static int is_greedy(const tw_sampling *settings) {
  return (settings->temperature == 0 || settings->top_k == 1) && settings->penalty == TW_SAMPLER_ONE;
}

#if TW_LM_GREEDY
static int32_t choose_by(context *c, const tw_sampling *settings, uint64_t seed) {
  (void)c, (void)seed;
  return is_greedy(settings) ? 0 : TW_MODEL_FAILED;
}

void TW_LM_FUNCTION(saw)(context *c, int32_t token) { (void)c, (void)token; }

static int32_t chosen(context *c) { return (int32_t)c->best[0]; }
#else
static int32_t choose_by(context *c, const tw_sampling *settings, uint64_t seed) {
  return tw_sampler_init(&c->sampler, settings, seed, TW_LM_VOCABULARY, c->seen) == 0 ? 0 : TW_MODEL_FAILED;
}

void TW_LM_FUNCTION(saw)(context *c, int32_t token) { tw_sampler_saw(&c->sampler, token); }

/* The network itself says which token is the most likely. */
static int32_t chosen(context *c) {
  if (is_greedy(&c->sampler.settings)) return (int32_t)c->best[0];
  const tw_logits found = scores(c);
  return tw_sampler_next(&c->sampler, &found);
}
#endif

void TW_LM_FUNCTION(reset)(context *c) {
  const tw_sampling greedy = {0, 0, TW_SAMPLER_ONE, TW_SAMPLER_ONE, 0};
  c->held = 0;
  c->given = NONE;
  c->is_scored = 0;
  /* Caches need not be cleared: nobody looks behind the last token. */
  (void)choose_by(c, &greedy, 0);
}

int32_t TW_LM_FUNCTION(sampling)(context *c, const tw_sampling *settings, uint64_t seed) {
  return choose_by(c, settings, seed);
}

int32_t TW_LM_FUNCTION(length)(const context *c) { return c->held + (c->given != NONE); }

int32_t TW_LM_FUNCTION(keep)(context *c, int32_t length) {
  if (length < 0 || length > TW_LM_FUNCTION(length)(c)) return TW_MODEL_FULL;
  if (length <= c->held) c->given = NONE;
  if (length < c->held) {
    c->held = length;
    c->is_scored = 0;
  }
  return 0;
}

#if TW_LM_ANY_TOKENS
static int32_t read_tokens(context *c, const int32_t *tokens, int32_t count) {
  c->position[0] = c->held;
  c->is_scored = 0;
  if (run_tokens(c, tokens, count) != 0) return TW_MODEL_FAILED;
  for (int32_t i = 0; i < count; i++) TW_LM_FUNCTION(saw)(c, tokens[i]);
  c->held += count;
  c->is_scored = 1;
  return 0;
}

static int32_t read_token(context *c, int32_t token) { return read_tokens(c, &token, 1); }

static int32_t read_all(context *c, const int32_t *tokens, int32_t count) {
  int32_t status = 0;
  for (int32_t at = 0; status == 0 && at < count; at += TW_LM_BLOCK)
    status = read_tokens(c, tokens + at, count - at < TW_LM_BLOCK ? count - at : TW_LM_BLOCK);
  return status;
}
#else
/* Up to a block of tokens; what is behind them fills rows of the caches that later tokens write over. */
static int32_t read_block(context *c, const int32_t *tokens, int32_t count) {
  for (int32_t i = 0; i < TW_LM_BLOCK; i++) c->block[i] = i < count ? tokens[i] : 0;
  for (int32_t i = 0; i < count; i++) TW_LM_FUNCTION(saw)(c, tokens[i]);
  c->position[0] = c->held;
  c->is_scored = 0;
  if (run_prefill(c) != 0) return TW_MODEL_FAILED;
  c->held += count;
  return 0;
}

static int32_t read_token(context *c, int32_t token) {
  c->block[0] = token;
  c->position[0] = c->held;
  c->is_scored = 0;
  if (run_decode(c) != 0) return TW_MODEL_FAILED;
  c->held++;
  c->is_scored = 1;
  TW_LM_FUNCTION(saw)(c, token);
  return 0;
}

/* How many of the tokens that are left are read at once; 0 where one by one is faster. The last one is read alone: blocks
 * give no scores. */
static int32_t in_a_block(const context *c, int32_t left) {
  const int32_t count = left - 1 < TW_LM_BLOCK ? left - 1 : TW_LM_BLOCK;
  return count >= TW_LM_BLOCK_FROM && c->held + TW_LM_BLOCK <= TW_LM_CONTEXT ? count : 0;
}

static int32_t read_all(context *c, const int32_t *tokens, int32_t count) {
  int32_t status = 0, at = 0;
  while (status == 0 && at < count) {
    const int32_t several = in_a_block(c, count - at);
    status = several ? read_block(c, tokens + at, several) : read_token(c, tokens[at]);
    at += several ? several : 1;
  }
  return status;
}
#endif

static int are_known(const int32_t *tokens, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (tokens[i] < 0 || tokens[i] >= TW_LM_VOCABULARY) return 0;
  return 1;
}

static int32_t read_given(context *c) {
  const int32_t token = c->given;
  c->given = NONE;
  return token == NONE ? 0 : read_token(c, token);
}

int32_t TW_LM_FUNCTION(prompt)(context *c, const int32_t *tokens, int32_t count) {
  if (count < 0 || count > TW_LM_CONTEXT - TW_LM_FUNCTION(length)(c)) return TW_MODEL_FULL;
  if (!are_known(tokens, count)) return TW_MODEL_UNKNOWN_TOKEN;
  if (count == 0) return 0;
  const int32_t status = read_given(c);
  return status == 0 ? read_all(c, tokens, count) : status;
}

int32_t TW_LM_FUNCTION(choose)(context *c) {
  if (read_given(c) != 0) return TW_MODEL_FAILED;
  if (!c->is_scored) return TW_MODEL_NOTHING_READ;
  const int32_t token = chosen(c);
  return token < 0 ? TW_MODEL_FAILED : token;
}

int32_t TW_LM_FUNCTION(next)(context *c) {
  if (TW_LM_FUNCTION(length)(c) >= TW_LM_CONTEXT) return TW_MODEL_FULL;
  const int32_t token = TW_LM_FUNCTION(choose)(c);
  if (token >= 0) c->given = token;
  return token;
}
