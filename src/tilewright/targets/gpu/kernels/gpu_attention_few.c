/* y = softmax(scale * q k') v of floats for few queries, as those of one new token: a group for each row, whose items
 * have a key each for the scores, and then neighbouring channels of some of the values. All scores of a row are in
 * shared memory. With cosines and sines, queries are rotated before. */
#define TW_GROUP_SIZE 256
#include <math.h>

#include "fast_exp.h"
#include "gpu_attention.h"
#include "gpu_join.h"
#include "gpu_turn.h"
#include "gpu_unroll.h"
#include "half.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_attention_few
#define TW_Q float
#define TW_K float
#define TW_V float
#define TW_COSINE float
#define TW_SINE float
#define TW_Y float
#endif
#ifndef TW_Q_LOAD
#define TW_Q_LOAD(element) (element)
#endif
#ifndef TW_K_LOAD
#define TW_K_LOAD(element) (element)
#endif
#ifndef TW_V_LOAD
#define TW_V_LOAD(element) (element)
#endif
#ifndef TW_Y_STORE
#define TW_Y_STORE(value) (value)
#endif

enum {
  TW_MOST_KEYS = 8192,     /* MOST_KEYS in attention.py */
  TW_MOST_CHANNELS = 128,  /* CHANNELS in attention.py */
  TW_PIECE = 16 / sizeof(TW_K), /* channels that are read at once */
  TW_AHEAD = 4                  /* pieces that are on their way */
};

typedef struct {
  TW_K at[TW_PIECE];
} __attribute__((aligned(16), may_alias)) tw_keys;

typedef struct {
  TW_V at[TW_PIECE];
} __attribute__((aligned(16), may_alias)) tw_values;

TW_GROUP_SHARED(float, tw_weights, [TW_MOST_KEYS]);
TW_GROUP_SHARED(float, tw_query, [TW_MOST_CHANNELS]);
TW_GROUP_SHARED(float, tw_mixed, [TW_GROUP_SIZE * TW_PIECE]);

TW_GPU float tw_score(const TW_K *k, int32_t length) {
  float sum = 0.0f;
  if (length % TW_PIECE) {
    for (int32_t i = 0; i < length; i++) sum += TW_K_LOAD(k[i]) * tw_query[i];
    return sum;
  }
  for (int32_t first = 0; first < length; first += TW_AHEAD * TW_PIECE) {
    tw_keys ahead[TW_AHEAD];
    TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
      const int32_t at = first + i * TW_PIECE;
      ahead[i] = *(const tw_keys *)(k + (at < length ? at : 0));
    }
    TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
      const int32_t at = first + i * TW_PIECE;
      TW_UNROLL for (int32_t c = 0; c < TW_PIECE; c++) {
        sum += at < length ? TW_K_LOAD(ahead[i].at[c]) * tw_query[at + c] : 0.0f;
      }
    }
  }
  return sum;
}

/* Values of every so many tokens times their weights: some neighbouring channels. */
TW_GPU void tw_mix(const TW_V *v, int32_t step, int32_t first, int32_t apart, int32_t seen, float *mixed) {
  for (int32_t start = first; start < seen; start += apart * TW_AHEAD) {
    tw_values ahead[TW_AHEAD];
    TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
      const int32_t token = start + i * apart;
      ahead[i] = *(const tw_values *)(v + (int64_t)(token < seen ? token : start) * step);
    }
    TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
      const int32_t token = start + i * apart;
      TW_UNROLL for (int32_t c = 0; c < TW_PIECE; c++) {
        mixed[c] += token < seen ? tw_weights[token] * TW_V_LOAD(ahead[i].at[c]) : 0.0f;
      }
    }
  }
}

static inline tw_grid grid(const tw_gpu_attention_params *params) {
  const tw_attention_rows *const r = &params->rows;
  const tw_grid groups = {r->groups * r->repeat, r->queries, r->batch};
  return groups;
}

TW_GPU void group(const tw_gpu_attention_params *params, const TW_Q *q, const TW_K *k, const TW_V *v,
                  const int32_t *position, const TW_COSINE *cosine, const TW_SINE *sine, TW_Y *y) {
  const tw_attention_rows *const r = &params->rows;
  const int32_t width = r->width, seen = tw_keys_seen(r, TW_GROUP_Y, position);
  const int32_t pieces = width % TW_PIECE ? width : width / TW_PIECE, parts = TW_GROUP_SIZE / pieces;
  const int64_t query = (int64_t)TW_GROUP_Z * r->queries + TW_GROUP_Y, key = (int64_t)TW_GROUP_Z * r->keys;
  if (!k) {
    k = (const TW_K *)(q + r->groups * r->repeat * r->length);
    v = (const TW_V *)(k + r->groups * r->length);
  }
  q += query * params->q_token + TW_GROUP_X * r->length;
  k += key * params->k_token + TW_GROUP_X / r->repeat * r->length;
  v += key * params->v_token + TW_GROUP_X / r->repeat * width;
  y += (query * r->groups * r->repeat + TW_GROUP_X) * width;
  TW_ITEMS(t) {
    if (t < r->length) {
      float query = TW_Q_LOAD(q[t]);
      if (cosine) {
        const int32_t away = tw_other(t, r->length, params->interleaved);
        query = tw_turned(query, TW_Q_LOAD(q[t + away]), away, TW_COSINE_LOAD(cosine[t]), TW_SINE_LOAD(sine[t]));
      }
      tw_query[t] = query * params->scale;
    }
  }
  TW_MEET();
  TW_ITEMS(t) {
    float largest = -INFINITY;
    for (int32_t token = t; token < seen; token += TW_GROUP_SIZE) {
      const float score = tw_score(k + (int64_t)token * params->k_token, r->length);
      tw_weights[token] = score;
      largest = score > largest ? score : largest;
    }
    tw_found[t] = largest;
  }
  const float largest = tw_group_largest();
  TW_ITEMS(t) {
    float sum = 0.0f;
    for (int32_t token = t; token < seen; token += TW_GROUP_SIZE) {
      tw_weights[token] = tw_exp(tw_weights[token] - largest);
      sum += tw_weights[token];
    }
    tw_found[t] = sum;
  }
  const float unit = 1.0f / tw_group_sum();
  TW_ITEMS(t) {
    float mixed[TW_PIECE] = {0};
    const int32_t own = t % pieces, channel = own * (width / pieces);
    if (t < parts * pieces && pieces < width) tw_mix(v + channel, params->v_token, t / pieces, parts, seen, mixed);
    for (int32_t token = t / pieces; pieces == width && token < seen && t < parts * pieces; token += parts) {
      mixed[0] += tw_weights[token] * TW_V_LOAD(v[(int64_t)token * params->v_token + own]);
    }
    for (int32_t c = 0; c < width / pieces && t < parts * pieces; c++) {
      tw_mixed[t / pieces * width + channel + c] = mixed[c];
    }
  }
  TW_MEET();
  TW_ITEMS(t) {
    if (t < width) {
      float mixed = 0.0f;
      for (int32_t part = 0; part < parts; part++) mixed += tw_mixed[part * width + t];
      y[t] = TW_Y_STORE(mixed * unit);
    }
  }
}

TW_GPU_KERNEL(tw_gpu_attention_params,
              (const TW_Q *q, const TW_K *k, const TW_V *v, const int32_t *position, const TW_COSINE *cosine,
               const TW_SINE *sine, TW_Y *y),
              (q, k, v, position, cosine, sine, y))
