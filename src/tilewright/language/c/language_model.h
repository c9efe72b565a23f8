/* Errors that the functions of a language model return. */
#ifndef TW_LANGUAGE_MODEL_H
#define TW_LANGUAGE_MODEL_H

enum {
  TW_MODEL_FULL = -1,          /* the context has no room for the tokens */
  TW_MODEL_UNKNOWN_TOKEN = -2, /* a token number outside the vocabulary */
  TW_MODEL_NOTHING_READ = -3,  /* the context is empty: there is no token to continue from */
  TW_MODEL_FAILED = -4,        /* a network refused its arena, or the sampler its settings */
};

#endif
