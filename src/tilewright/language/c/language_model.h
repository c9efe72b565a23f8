/* What the functions of a language model give back instead of a token, or of 0. */
#ifndef TW_LANGUAGE_MODEL_H
#define TW_LANGUAGE_MODEL_H

enum {
  TW_MODEL_FULL = -1,          /* the context does not hold another token, or not all that are given */
  TW_MODEL_UNKNOWN_TOKEN = -2, /* a number that is no token of the vocabulary */
  TW_MODEL_NOTHING_READ = -3,  /* there is no next token before a first one */
  TW_MODEL_FAILED = -4,        /* a network refused its arena, or the sampler its settings */
};

#endif
