/* A language model: tokens are read, in blocks and one by one, and the next ones are given.
 *
 * calls.h, which is generated, says how its two networks are called: one reads a block of tokens and fills the caches,
 * the other one reads a token and gives the scores of the next. */
#define TW_LM_CALLS
#include "calls.h"

enum { NONE = -1 };

static int32_t held;         /* tokens in the caches */
static int32_t given = NONE; /* the token that was given last and is not read yet */
static int scored;           /* whether the network has said what the next token is */
static int started;

static int is_greedy(const tw_sampling *settings) {
  return (settings->temperature == 0 || settings->top_k == 1) && settings->penalty == TW_SAMPLER_ONE;
}

#if TW_LM_GREEDY
static int32_t choose_greedily(void) { return 0; }

static int32_t choose_by(const tw_sampling *settings, uint64_t seed) {
  (void)seed;
  return is_greedy(settings) ? 0 : TW_MODEL_FAILED;
}

static void saw(int32_t token) { (void)token; }

static int32_t chosen(void) { return (int32_t)best[0]; }
#else
static uint32_t seen[TW_SAMPLER_SEEN_WORDS(TW_LM_VOCABULARY)];
static tw_sampler sampler;

static int32_t choose_by(const tw_sampling *settings, uint64_t seed) {
  return tw_sampler_init(&sampler, settings, seed, TW_LM_VOCABULARY, seen) == 0 ? 0 : TW_MODEL_FAILED;
}

static int32_t choose_greedily(void) {
  const tw_sampling greedy = {0, 0, TW_SAMPLER_ONE, TW_SAMPLER_ONE};
  return choose_by(&greedy, 0);
}

static void saw(int32_t token) { tw_sampler_saw(&sampler, token); }

/* The network itself says which token is the most likely. */
static int32_t chosen(void) {
  if (is_greedy(&sampler.settings)) return (int32_t)best[0];
  const tw_logits found = scores();
  return tw_sampler_next(&sampler, &found);
}
#endif

void TW_LM_FUNCTION(reset)(void) {
  held = 0;
  given = NONE;
  scored = 0;
  /* Caches need not be cleared: nobody looks behind the last token. */
  started = choose_greedily() == 0;
}

int32_t TW_LM_FUNCTION(sampling)(const tw_sampling *settings, uint64_t seed) {
  /* A first prompt would reset them. */
  if (!started) TW_LM_FUNCTION(reset)();
  return choose_by(settings, seed);
}

int32_t TW_LM_FUNCTION(length)(void) { return held + (given != NONE); }

/* Up to a block of tokens; what is behind them fills rows of the caches that later tokens write over. */
static int32_t read_block(const int32_t *tokens, int32_t count) {
  for (int32_t i = 0; i < TW_LM_BLOCK; i++) block[i] = i < count ? tokens[i] : 0;
  for (int32_t i = 0; i < count; i++) saw(tokens[i]);
  position[0] = held;
  if (run_prefill() != 0) return TW_MODEL_FAILED;
  held += count;
  return 0;
}

static int32_t read_token(int32_t token) {
  block[0] = token;
  position[0] = held;
  if (run_decode() != 0) return TW_MODEL_FAILED;
  held++;
  scored = 1;
  saw(token);
  return 0;
}

static int are_known(const int32_t *tokens, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (tokens[i] < 0 || tokens[i] >= TW_LM_VOCABULARY) return 0;
  return 1;
}

static int32_t read_given(void) {
  const int32_t token = given;
  given = NONE;
  return token == NONE ? 0 : read_token(token);
}

/* How many of the tokens that are left are read at once; 0 where one by one is faster. The last one is read alone: blocks
 * give no scores. */
static int32_t in_a_block(int32_t left) {
  const int32_t count = left - 1 < TW_LM_BLOCK ? left - 1 : TW_LM_BLOCK;
  return count >= TW_LM_BLOCK_FROM && held + TW_LM_BLOCK <= TW_LM_CONTEXT ? count : 0;
}

int32_t TW_LM_FUNCTION(prompt)(const int32_t *tokens, int32_t count) {
  if (!started) TW_LM_FUNCTION(reset)();
  if (count < 0 || count > TW_LM_CONTEXT - TW_LM_FUNCTION(length)()) return TW_MODEL_FULL;
  if (!are_known(tokens, count)) return TW_MODEL_UNKNOWN_TOKEN;
  if (count == 0) return 0;
  int32_t status = read_given(), at = 0;
  while (status == 0 && at < count) {
    const int32_t several = in_a_block(count - at);
    status = several ? read_block(tokens + at, several) : read_token(tokens[at]);
    at += several ? several : 1;
  }
  return status;
}

int32_t TW_LM_FUNCTION(next)(void) {
  if (TW_LM_FUNCTION(length)() >= TW_LM_CONTEXT) return TW_MODEL_FULL;
  if (read_given() != 0) return TW_MODEL_FAILED;
  if (!scored || !started) return TW_MODEL_NOTHING_READ;
  given = chosen();
  return given < 0 ? TW_MODEL_FAILED : given;
}
