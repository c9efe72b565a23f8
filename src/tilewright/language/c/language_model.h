/* Errors that the functions of a language model return. */
#ifndef TW_LANGUAGE_MODEL_H
#define TW_LANGUAGE_MODEL_H

enum {
  TW_MODEL_FULL = -1,          /* the context has no room for the tokens */
  TW_MODEL_UNKNOWN_TOKEN = -2, /* a token number outside the vocabulary */
  TW_MODEL_NOTHING_READ = -3,  /* there is no token to continue from: read one */
  TW_MODEL_FAILED = -4,        /* a network refused its arena, or the sampler its settings */
  TW_MODEL_MEMORY = -5,        /* memory that is too small, or not aligned */
  TW_MODEL_FILE = -6,          /* a file that cannot be mapped */
  TW_MODEL_WEIGHTS = -7,       /* weights of another model, or of another version of the library */
  TW_MODEL_STATE = -8,         /* a state of another model, or one that is damaged */
};

#endif
