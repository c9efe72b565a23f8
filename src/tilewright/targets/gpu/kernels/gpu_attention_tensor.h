/* Attention of 16-bit floats on tensor cores, for gpu_attention.c: the warps of a group share the keys, 16 at a time.
 * Each keeps the largest score, the sum of weights and the weighted values of all rows; the group joins them at the
 * end. Lines of shared memory have `depth` channels, 64 or 128, in pieces of 16 bytes that change places from line to
 * line. */
#ifndef TW_GPU_ATTENTION_TENSOR_H
#define TW_GPU_ATTENTION_TENSOR_H

enum {
  TW_WARP = 32,
  TW_WARPS = TW_GROUP_SIZE / TW_WARP,
  TW_WARP_KEYS = 16,
  TW_WARP_BYTES = 4096, /* of keys and values */
  TW_FOUND = TW_PART + 4 /* what a warp has found of a row: some channels, the largest score and the sum */
};

#define TW_LOG2_E 1.44269504f /* weights are powers of two */
#define TW_LOWEST (-2e38f)    /* score, whose product with that is finite */

#if TW_Q_IS_BFLOAT
#define TW_HALF "bf16"
#else
#define TW_HALF "f16"
#endif

typedef struct {
  float largest[2], sum[2];               /* of rows lane / 4 and eight further down */
  float mixed[TW_PART * TW_MOST_PARTS / 8][4]; /* as tensor cores hold them */
} tw_warp_mix;

TW_GPU void tw_mma(float *c, const uint32_t *a, const uint32_t *b) {
  __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32." TW_HALF "." TW_HALF
                   ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Four matrices of 8 x 8 elements, a line at the address of each lane; or each of them transposed. */
TW_GPU void tw_load_matrices(uint32_t *r, const TW_LOCAL uint8_t *p) {
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(tw_local_address(p))
                   : "memory");
}

TW_GPU void tw_load_transposed(uint32_t *r, const TW_LOCAL uint8_t *p) {
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(tw_local_address(p))
                   : "memory");
}

TW_GPU float tw_of_other_lane(float x, int32_t lanes) {
  float other;
  __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(other) : "f"(x), "r"(lanes));
  return other;
}

TW_GPU void tw_warp_meets(void) { __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

TW_GPU float tw_power_of_two(float x) {
  float y;
  __asm__("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/* As tw_bent, by powers that the GPU approximates: 1 - 2 / (1 + e^2x) for tanh x. */
TW_GPU float tw_nearly_bent(const tw_gpu_attention_params *p, float score) {
#ifdef TW_LIMITED
  float quotient;
  if (p->cap == 0.0f) return score;
  __asm__("rcp.approx.ftz.f32 %0, %1;" : "=f"(quotient) : "f"(1.0f + tw_power_of_two(score * (2.0f * TW_LOG2_E / p->cap))));
  return p->cap - 2.0f * p->cap * quotient;
#else
  (void)p;
  return score;
#endif
}

/* The exponent of two of a weight. The lowest masks are numbers, as rows of which nothing else is there have weights. */
TW_GPU float tw_as_power(float score) {
#ifdef TW_MASKED
  if (score < TW_LOWEST && score > -INFINITY) score = TW_LOWEST;
#endif
  return score * TW_LOG2_E;
}

TW_GPU uint32_t tw_two(float low, float high) { return (uint32_t)TW_Q_STORE(low) | (uint32_t)TW_Q_STORE(high) << 16; }

TW_GPU TW_LOCAL uint8_t *tw_piece_at(TW_LOCAL uint8_t *lines, int32_t line, int32_t piece, int32_t depth) {
  return lines + line * depth * 2 + (piece ^ (line & 7)) * 16;
}

/* Keys or values of 16 tokens; zeros behind the last. */
TW_GPU void tw_load_lines(TW_LOCAL uint8_t *lines, const TW_Q *from, int32_t step, int32_t first, int32_t channels,
                          int32_t limit, int32_t depth, int32_t lane) {
  TW_UNROLL for (int32_t i = 0; i < depth / 16; i++) {
    const int32_t at = i * TW_WARP + lane, line = at / (depth / 8), piece = at % (depth / 8);
    const int32_t valid = first + line < limit && piece * 8 < channels;
    tw_copy_16(tw_piece_at(lines, line, piece, depth), valid ? from + (int64_t)(first + line) * step + piece * 8 : from,
               valid);
  }
}

TW_GPU void tw_arrive(void) {
  tw_copies_commit();
  tw_copies_pending(0);
  tw_warp_meets();
}

/* Scores of 16 rows and 16 keys become weights; what was found before shrinks where one of them is larger. */
TW_GPU void tw_weigh_tile(float (*score)[4], tw_warp_mix *mix, const tw_work *w, const int32_t *seen, int32_t first,
                          int32_t depth, int32_t lane) {
  const tw_gpu_attention_params *const p = w->p;
  float most[2] = {mix->largest[0], mix->largest[1]};
  TW_UNROLL for (int32_t i = 0; i < 8; i++) {
    const int32_t key = first + i / 4 * 8 + lane % 4 * 2 + i % 2, row = i % 4 / 2;
    float *const at = &score[i / 4][i % 4];
    const int32_t is_seen = key < seen[row] && key >= tw_first_seen(p, seen[row]);
    *at = is_seen ? tw_as_power(tw_masked(w, tw_nearly_bent(p, *at * p->scale), lane / 4 + row * 8, key)) : -INFINITY;
    most[row] = *at > most[row] ? *at : most[row];
  }
  TW_UNROLL for (int32_t row = 0; row < 2; row++) {
    TW_UNROLL for (int32_t lanes = 1; lanes < 4; lanes *= 2) {
      const float other = tw_of_other_lane(most[row], lanes);
      most[row] = other > most[row] ? other : most[row];
    }
    const float base = most[row] == -INFINITY ? 0.0f : most[row], shrink = tw_power_of_two(mix->largest[row] - base);
    mix->largest[row] = most[row];
    mix->sum[row] *= shrink;
    TW_UNROLL for (int32_t i = 0; i < depth / 8; i++) {
      mix->mixed[i][row * 2] *= shrink;
      mix->mixed[i][row * 2 + 1] *= shrink;
    }
    TW_UNROLL for (int32_t i = 0; i < 4; i++) {
      float *const at = &score[i / 2][row * 2 + i % 2];
      *at = tw_power_of_two(*at - base);
      mix->sum[row] += *at;
    }
  }
}

/* All keys that are a warp's. */
TW_GPU void tw_attend(const tw_work *w, tw_warp_mix *mix, int32_t depth, int32_t t) {
  const tw_attention_rows *const r = &w->p->rows;
  const int32_t lane = t % TW_WARP, keys_first = t / TW_WARP * TW_WARP_KEYS;
  TW_LOCAL uint8_t *const queries = (TW_LOCAL uint8_t *)tw_queries;
  TW_LOCAL uint8_t *const keys = (TW_LOCAL uint8_t *)tw_buffers + t / TW_WARP * TW_WARP_BYTES;
  TW_LOCAL uint8_t *const values = depth > TW_PART ? keys : keys + TW_WARP_BYTES / 2;
  const int32_t seen[2] = {tw_keys_seen(r, tw_query_of(w, lane / 4), w->position),
                           tw_keys_seen(r, tw_query_of(w, lane / 4 + 8), w->position)};
  uint32_t q[TW_PART * TW_MOST_PARTS / 16][4];
  TW_UNROLL for (int32_t i = 0; i < depth / 16; i++) {
    tw_load_matrices(q[i], tw_piece_at(queries, lane % 16, i * 2 + lane / 16, depth));
  }
  const int32_t before = w->first / (TW_WARPS * TW_WARP_KEYS) * (TW_WARPS * TW_WARP_KEYS);
  for (int32_t first = before + keys_first; first < w->seen; first += TW_WARPS * TW_WARP_KEYS) {
    float score[2][4] = {{0.0f}};
    uint32_t b[4];
    tw_warp_meets();
    tw_load_lines(keys, w->k, w->p->k_token, first, r->length, w->seen, depth, lane);
    if (depth <= TW_PART) tw_load_lines(values, w->v, w->p->v_token, first, r->width, w->seen, depth, lane);
    tw_arrive();
    TW_UNROLL for (int32_t i = 0; i < depth / 16; i++) {
      tw_load_matrices(b, tw_piece_at(keys, lane / 16 * 8 + lane % 8, i * 2 + lane / 8 % 2, depth));
      tw_mma(score[0], q[i], b);
      tw_mma(score[1], q[i], b + 2);
    }
    if (depth > TW_PART) {
      tw_warp_meets();
      tw_load_lines(values, w->v, w->p->v_token, first, r->width, w->seen, depth, lane);
      tw_arrive();
    }
    tw_weigh_tile(score, mix, w, seen, first, depth, lane);
    const uint32_t weights[4] = {tw_two(score[0][0], score[0][1]), tw_two(score[0][2], score[0][3]),
                                 tw_two(score[1][0], score[1][1]), tw_two(score[1][2], score[1][3])};
    TW_UNROLL for (int32_t i = 0; i < depth / 8; i += 2) {
      tw_load_transposed(b, tw_piece_at(values, lane % 16, i + lane / 16, depth));
      tw_mma(mix->mixed[i], weights, b);
      tw_mma(mix->mixed[i + 1], weights, b + 2);
    }
  }
  TW_UNROLL for (int32_t row = 0; row < 2; row++) {
    mix->sum[row] += tw_of_other_lane(mix->sum[row], 1);
    mix->sum[row] += tw_of_other_lane(mix->sum[row], 2);
  }
}

/* What warps have found of 64 channels goes to shared memory. */
TW_GPU void tw_leave(const tw_warp_mix *mix, int32_t part, int32_t t) {
  const int32_t lane = t % TW_WARP;
  TW_UNROLL for (int32_t row = 0; row < 2; row++) {
    TW_LOCAL float *const to = (TW_LOCAL float *)tw_buffers + (t / TW_WARP * TW_ROWS + lane / 4 + row * 8) * TW_FOUND;
    TW_UNROLL for (int32_t i = 0; i < TW_PART / 8; i++) {
      to[i * 8 + lane % 4 * 2] = mix->mixed[part * TW_PART / 8 + i][row * 2];
      to[i * 8 + lane % 4 * 2 + 1] = mix->mixed[part * TW_PART / 8 + i][row * 2 + 1];
    }
    if (lane % 4 == 0) {
      to[TW_PART] = mix->largest[row];
      to[TW_PART + 1] = mix->sum[row];
    }
  }
}

/* Four neighbours of a row's results. */
TW_GPU void tw_join_warps(const tw_work *w, int32_t part, int32_t t) {
  const int32_t row = t / TW_ALONG, channel = t % TW_ALONG * 4, width = w->p->rows.width;
  const TW_LOCAL float *const found = (const TW_LOCAL float *)tw_buffers + row * TW_FOUND;
  float most = -INFINITY, sum = 0.0f, mixed[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  TW_UNROLL for (int32_t warp = 0; warp < TW_WARPS; warp++) {
    const float largest = found[warp * TW_ROWS * TW_FOUND + TW_PART];
    most = largest > most ? largest : most;
  }
  const float base = most == -INFINITY ? 0.0f : most;
  TW_UNROLL for (int32_t warp = 0; warp < TW_WARPS; warp++) {
    const TW_LOCAL float *const from = found + warp * TW_ROWS * TW_FOUND;
    const float share = tw_power_of_two(from[TW_PART] - base);
    sum += share * from[TW_PART + 1];
    TW_UNROLL for (int32_t i = 0; i < 4; i++) mixed[i] += share * from[channel + i];
  }
  if (w->first_row + row >= tw_rows_there(w)) return;
  TW_Y *const y = w->y + tw_row_at(w, row, width, w->p->rows.groups * w->p->rows.repeat * width) + part * TW_PART;
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    const float result = tw_is_empty(w, sum) ? 0.0f : mixed[i] / sum;
    if (part * TW_PART + channel + i < width) y[channel + i] = TW_Y_STORE(result);
  }
}

TW_GPU void tw_on_tensor_cores(const tw_work *w, int32_t depth, int32_t t) {
  tw_warp_mix mix = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}, {{0.0f}}};
  TW_UNROLL for (int32_t i = 0; i < depth / 8 * TW_ROWS; i += TW_GROUP_SIZE) {
    const int32_t row = (i + t) / (depth / 8), piece = (i + t) % (depth / 8);
    const int32_t valid = row < TW_ROWS && w->first_row + row < tw_rows_there(w) && piece * 8 < w->p->rows.length;
    const TW_Q *const from = valid ? w->q + tw_row_at(w, row, w->p->rows.length, w->p->q_token) + piece * 8 : w->q;
    if (row < TW_ROWS) tw_copy_16(tw_piece_at((TW_LOCAL uint8_t *)tw_queries, row, piece, depth), from, valid);
  }
  tw_copies_commit();
  tw_copies_pending(0);
  TW_MEET();
  tw_attend(w, &mix, depth, t);
  TW_UNROLL for (int32_t part = 0; part < depth / TW_PART; part++) {
    TW_MEET();
    tw_leave(&mix, part, t);
    TW_MEET();
    tw_join_warps(w, part, t);
  }
}

#endif
