/* y = softmax(scale * q k') v of floats for few queries, as those of one new token: a group for each row, whose items
 * have a key each for the scores, and then a channel of some of the values. All scores of a row are in shared memory.
 * With cosines and sines, queries are rotated before. */
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
  TW_PIECE = 16 / sizeof(TW_K) /* channels that are read at once */
};

typedef struct {
  TW_K at[TW_PIECE];
} __attribute__((aligned(16), may_alias)) tw_piece;

TW_GROUP_SHARED(float, tw_weights, [TW_MOST_KEYS]);
TW_GROUP_SHARED(float, tw_query, [TW_MOST_CHANNELS]);

TW_GPU float tw_score(const TW_K *k, int32_t length) {
  float sum = 0.0f;
  if (length % TW_PIECE == 0) {
    for (int32_t first = 0; first < length; first += TW_PIECE) {
      const tw_piece piece = *(const tw_piece *)(k + first);
      TW_UNROLL for (int32_t i = 0; i < TW_PIECE; i++) sum += TW_K_LOAD(piece.at[i]) * tw_query[first + i];
    }
    return sum;
  }
  for (int32_t i = 0; i < length; i++) sum += TW_K_LOAD(k[i]) * tw_query[i];
  return sum;
}

static inline tw_grid grid(const tw_gpu_attention_params *params) {
  const tw_attention_rows *const r = &params->rows;
  const tw_grid groups = {r->groups * r->repeat, r->queries, r->batch};
  return groups;
}

TW_GPU void group(const tw_gpu_attention_params *params, const TW_Q *q, const TW_K *k, const TW_V *v,
                  const int32_t *position, const TW_COSINE *cosine, const TW_SINE *sine, TW_Y *y) {
  const tw_attention_rows *const r = &params->rows;
  const int32_t width = r->width, parts = TW_GROUP_SIZE / width, seen = tw_keys_seen(r, TW_GROUP_Y, position);
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
        const int32_t far = tw_other(t, r->length, params->interleaved);
        query = tw_turned(query, TW_Q_LOAD(q[t + far]), far, TW_COSINE_LOAD(cosine[t]), TW_SINE_LOAD(sine[t]));
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
    float mixed = 0.0f;
    const TW_V *const values = v + t % width;
    for (int32_t token = t / width; token < seen && t < parts * width; token += parts) {
      mixed += tw_weights[token] * TW_V_LOAD(values[(int64_t)token * params->v_token]);
    }
    tw_found[t] = mixed;
  }
  TW_MEET();
  TW_ITEMS(t) {
    if (t < width) {
      float mixed = 0.0f;
      for (int32_t part = 0; part < parts; part++) mixed += tw_found[part * width + t];
      y[t] = TW_Y_STORE(mixed * unit);
    }
  }
}

TW_GPU_KERNEL(tw_gpu_attention_params,
              (const TW_Q *q, const TW_K *k, const TW_V *v, const int32_t *position, const TW_COSINE *cosine,
               const TW_SINE *sine, TW_Y *y),
              (q, k, v, position, cosine, sine, y))
