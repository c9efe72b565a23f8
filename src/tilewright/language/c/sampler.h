/* The next token from a network's logits: greedy, or drawn with a temperature, top-k, top-p, min-p and a
   repetition penalty.

   Integers only: the same seed gives the same tokens on every machine. C99, no heap, no division by the processor. */
#ifndef TW_SAMPLER_H
#define TW_SAMPLER_H

#include <stdint.h>

#define TW_SAMPLER_BAD (-1) /* a setting, or a description of logits, that is out of its range */

#define TW_SAMPLER_ONE 65536 /* 1.0 of the settings below */

typedef struct {
    int32_t temperature; /* / 65536, from 0 (greedy) to 100 */
    int32_t top_k;       /* so many of the best tokens; 0: all */
    int32_t top_p;       /* / 65536, above 0, up to 1: so much of the probability, of the best tokens */
    int32_t penalty; /* / 65536, from 1/4 to 64: logits of tokens seen are divided by it, or multiplied if below 0 */
    int32_t min_p;   /* / 65536, from 0 to 1: tokens that have so much of the most likely one's probability */
} tw_sampling;

/* Logits as integers q of 8, 16 or 32 bits: their value is (q - zero_point) * multiplier / 2^shift. */
typedef struct {
    const void *values;
    int32_t bits;
    int32_t zero_point; /* one of q's numbers */
    int32_t multiplier; /* from 1 to 2^30 - 1 */
    int32_t shift;      /* from 0 to 62 */
} tw_logits;

#define TW_SAMPLER_LEVELS 512 /* values of 8 bits, of tokens that were not seen and of those that were */
#define TW_SAMPLER_SEEN_WORDS(vocabulary) (((vocabulary) + 31) / 32)

typedef struct {
    uint64_t random;  /* state of the generator, PCG32 */
    uint64_t rate;    /* log2(e) / temperature, / 2^24 */
    uint64_t inverse; /* 1 / penalty, / 2^30 */
    tw_sampling settings;
    int32_t vocabulary;
    uint32_t *seen; /* a bit for each token */
    uint64_t bins[256];
    uint32_t counts[TW_SAMPLER_LEVELS], distances[TW_SAMPLER_LEVELS];
} tw_sampler;

/* Give 0, or TW_SAMPLER_BAD. `seen` has TW_SAMPLER_SEEN_WORDS(vocabulary) words, which are cleared; it may be NULL
   where the penalty is 1. */
int32_t tw_sampler_init(
    tw_sampler *s, const tw_sampling *settings, uint64_t seed, int32_t vocabulary, uint32_t *seen
);

/* A token of the prompt or of what followed: the penalty is for all of them. */
void tw_sampler_saw(tw_sampler *s, int32_t token);

/* The next token, which is not yet taken for seen; or TW_SAMPLER_BAD. */
int32_t tw_sampler_next(tw_sampler *s, const tw_logits *logits);

/* For networks that compute in floating point (sampler_float.c): logits as integers with multiplier 1 and shift 16.
   What is not a number is the least likely. `to` may be where `from` is. */
void tw_logits_from_float(const float *from, int32_t *to, int32_t count);

#endif
