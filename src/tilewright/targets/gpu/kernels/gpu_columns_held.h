/* Products of one row, for gpu_columns.h: shared memory holds the weights of `held` rounds of a group, each in the place of
 * the one so many before. The first ones come while the launches before go on; then all that is waited for is memory, as
 * warps do their rounds at their own pace, and columns are ended many rounds later. x is in shared memory too, as floats,
 * scaled. What an item reads together is on its way together: compilers do not reorder reads and writes of memory. */
#ifndef TW_GPU_COLUMNS_HELD_H
#define TW_GPU_COLUMNS_HELD_H

enum {
  TW_PARTS = TW_PIECE / 4,
  TW_MOST_PENDING = 8,
  TW_TOGETHER = 4, /* pieces that an item reads together */
  TW_KEPT_ROUNDS = 32 /* whose sums are kept until all of them are ended */
};

typedef struct {
  float at[4];
} __attribute__((aligned(16), may_alias)) tw_four_of_x;

/* x, and behind it the weights. A piece of x lies in parts of four elements, all first parts before all second ones:
 * neighbours then read neighbours. */
TW_GROUP_DYNAMIC(tw_weights, tw_held);

TW_GPU TW_LOCAL tw_four_of_x *tw_part_of_x(const tw_columns *p, int32_t part, int32_t piece) {
  return (TW_LOCAL tw_four_of_x *)tw_held + part * (p->inner / TW_PIECE) + piece;
}

/* Where the first of the two rows of w lie that the warps of an item have in a round; the other one is behind it. */
TW_GPU TW_LOCAL tw_weights *tw_held_rows(const tw_columns *p, int32_t round, int32_t t) {
  const int32_t teams = TW_WARPS / p->sharing, team = t / (TW_WARP * p->sharing);
  return tw_held + p->inner / 4 + (round % p->held * teams + team) * 2 * (p->inner / TW_PIECE);
}

/* What copies of a round are counted as goes on behind the last one. */
TW_GPU void tw_stage(const tw_work *work, const tw_columns *p, int32_t round, int32_t t) {
  const int32_t lanes = TW_WARP * p->sharing, pieces = p->inner / TW_PIECE;
  if (round < tw_rounds(p)) {
    const tw_two_rows rows = tw_rows_there(work, p, round, t);
    TW_LOCAL tw_weights *const to = tw_held_rows(p, round, t);
    TW_UNROLL_BY(4)
    for (int32_t i = t % lanes; i < pieces; i += lanes) {
      tw_copy_16(to + i, rows.one + i * TW_PIECE, 1);
      tw_copy_16(to + pieces + i, rows.other + i * TW_PIECE, 1);
    }
  }
  tw_copies_commit();
}

/* Waits until no more than so many rounds are on their way. */
TW_GPU void tw_rounds_pending(int32_t count) {
  switch (count < TW_MOST_PENDING ? count : TW_MOST_PENDING) {
    case 0: tw_copies_pending(0); break;
    case 1: tw_copies_pending(1); break;
    case 2: tw_copies_pending(2); break;
    case 3: tw_copies_pending(3); break;
    case 4: tw_copies_pending(4); break;
    case 5: tw_copies_pending(5); break;
    case 6: tw_copies_pending(6); break;
    case 7: tw_copies_pending(7); break;
    default: tw_copies_pending(8); break;
  }
}

/* Scales, where their elements of x will be; and the first rounds. The first scales are on their way before all weights:
 * they would wait for these. */
TW_GPU void tw_stage_first(const tw_work *work, const tw_columns *p, const float *scale, int32_t t) {
  const int32_t pieces = p->inner / TW_PIECE;
  tw_scales scales[TW_TOGETHER];
  if (scale) {
    TW_UNROLL for (int32_t j = 0; j < TW_TOGETHER; j++) {
      const int32_t i = t + j * TW_GROUP_SIZE;
      scales[j] = *(const tw_scales *)(scale + (i < pieces ? i : 0) * TW_PIECE);
    }
  }
  for (int32_t round = 0; round < p->held; round++) tw_stage(work, p, round, t);
  for (int32_t first = t; scale && first < pieces; first += TW_TOGETHER * TW_GROUP_SIZE) {
    TW_UNROLL for (int32_t j = 0; j < TW_TOGETHER; j++) {
      const int32_t i = first + j * TW_GROUP_SIZE;
      if (first != t) scales[j] = *(const tw_scales *)(scale + (i < pieces ? i : 0) * TW_PIECE);
      if (i < pieces) {
        TW_UNROLL for (int32_t k = 0; k < TW_PIECE; k++) tw_part_of_x(p, k / 4, i)->at[k % 4] = scales[j].at[k];
      }
    }
  }
}

/* A piece of x to its place, scaled where there is a scale; the sum of its squares before that. */
TW_GPU float tw_put_piece(const tw_columns *p, const tw_elements *piece, const float *scale, int32_t i) {
  float squares = 0.0f;
  TW_UNROLL for (int32_t part = 0; part < TW_PARTS; part++) {
    TW_LOCAL tw_four_of_x *const to = tw_part_of_x(p, part, i);
    tw_four_of_x some = {{1.0f, 1.0f, 1.0f, 1.0f}};
    if (scale) some = *to;
    TW_UNROLL for (int32_t k = 0; k < 4; k++) {
      const float element = TW_OF_WORDS(TW_FACTOR, TW_FACTOR_LOAD, piece->at, part * 4 + k);
      squares += element * element;
      some.at[k] *= element;
    }
    *to = some;
  }
  return squares;
}

/* x, an item's pieces of it; the sum of their squares. */
TW_GPU float tw_bring_row(const tw_columns *p, const TW_FACTOR *x, const float *scale, int32_t t) {
  const int32_t pieces = p->inner / TW_PIECE;
  float squares = 0.0f;
  for (int32_t first = t; first < pieces; first += TW_TOGETHER * TW_GROUP_SIZE) {
    tw_elements some[TW_TOGETHER];
    TW_UNROLL for (int32_t j = 0; j < TW_TOGETHER; j++) {
      const int32_t i = first + j * TW_GROUP_SIZE;
      some[j] = *(const tw_elements *)(x + (i < pieces ? i : first) * TW_PIECE);
    }
    TW_UNROLL for (int32_t j = 0; j < TW_TOGETHER; j++) {
      const int32_t i = first + j * TW_GROUP_SIZE;
      if (i < pieces) squares += tw_put_piece(p, &some[j], scale, i);
    }
  }
  return squares;
}

/* What so many pieces of two rows add to their sums, from piece i on; `apart` is from one to the next. */
TW_GPU void tw_add_held(float *sums, const tw_columns *p, const TW_LOCAL tw_weights *rows, int32_t i, int32_t apart,
                        int32_t count) {
  const TW_LOCAL tw_weights *const others = rows + p->inner / TW_PIECE;
  tw_weights one[TW_TOGETHER], other[TW_TOGETHER];
  tw_four_of_x x[TW_TOGETHER][TW_PARTS];
  TW_UNROLL for (int32_t j = 0; j < count; j++) {
    one[j] = rows[i + j * apart];
    other[j] = others[i + j * apart];
    TW_UNROLL for (int32_t part = 0; part < TW_PARTS; part++) x[j][part] = *tw_part_of_x(p, part, i + j * apart);
  }
  TW_UNROLL for (int32_t j = 0; j < count; j++) {
    TW_UNROLL for (int32_t k = 0; k < TW_PIECE; k++) {
      sums[0] += x[j][k / 4].at[k % 4] * TW_OF_WORDS(TW_WEIGHT, TW_WEIGHT_LOAD, one[j].at, k);
      sums[1] += x[j][k / 4].at[k % 4] * TW_OF_WORDS(TW_WEIGHT, TW_WEIGHT_LOAD, other[j].at, k);
    }
  }
}

/* An item's share of the sums of two columns. */
TW_GPU void tw_share_held(float *sums, const tw_work *work, const tw_columns *p, int32_t round, int32_t t) {
  const int32_t lanes = TW_WARP * p->sharing, pieces = p->inner / TW_PIECE;
  const TW_LOCAL tw_weights *const rows = tw_held_rows(p, round, t);
  int32_t i = t % lanes;
  tw_rounds_pending(p->held - 1);
  sums[0] = sums[1] = 0.0f;
  for (; i + (TW_TOGETHER - 1) * lanes < pieces; i += TW_TOGETHER * lanes) {
    tw_add_held(sums, p, rows, i, lanes, TW_TOGETHER);
  }
  for (; i < pieces; i += lanes) tw_add_held(sums, p, rows, i, lanes, 1);
  tw_stage(work, p, round + p->held, t);
}

TW_GROUP_SHARED(float, tw_squares, [TW_WARPS]);

/* The sum of all squares, of which items have parts; all meet in between. */
TW_GPU float tw_sum_of_squares(float own, int32_t t) {
  float squares = 0.0f;
  if (!TW_IS_SCALED) {
    TW_MEET();
    return squares;
  }
  TW_UNROLL for (int32_t apart = 1; apart < TW_WARP; apart *= 2) own += tw_of_other_lane(own, apart);
  if (t % TW_WARP == 0) tw_squares[t / TW_WARP] = own;
  TW_MEET();
  TW_UNROLL for (int32_t warp = 0; warp < TW_WARPS; warp++) squares += tw_squares[warp];
  return squares;
}

/* What warps have found in some rounds, of which each does what it does at its own pace. */
TW_GROUP_SHARED(float, tw_found, [TW_KEPT_ROUNDS][TW_WARPS][2]);

/* Ends the columns of the rounds that are kept. */
TW_GPU void tw_end_rounds(const tw_work *work, const tw_columns *p, int32_t first, int32_t count, float squares,
                          int32_t t) {
  const int32_t teams = TW_WARPS / p->sharing;
  for (int32_t i = t; i < count * teams; i += TW_GROUP_SIZE) {
    const int32_t round = i / teams, team = i % teams;
    const int32_t two = tw_two_of(p, first + round, team * TW_WARP * p->sharing);
    tw_two_sums found = {0.0f, 0.0f, squares};
    for (int32_t warp = team * p->sharing; warp < (team + 1) * p->sharing; warp++) {
      found.one += tw_found[round][warp][0];
      found.other += tw_found[round][warp][1];
    }
    if (two < p->twos) tw_end(work, two, 0, &found);
  }
}

TW_GPU void tw_multiply_columns(const tw_columns *p, const tw_work *work, const TW_FACTOR *x, const float *scale) {
  const int32_t rounds = tw_rounds(p);
  TW_LET_OTHERS();
  TW_ITEMS(t) {
    tw_stage_first(work, p, scale, t);
    TW_AFTER_OTHERS();
    const float squares = tw_sum_of_squares(tw_bring_row(p, x, scale, t), t);
    for (int32_t first = 0; first < rounds; first += TW_KEPT_ROUNDS) {
      const int32_t count = rounds - first < TW_KEPT_ROUNDS ? rounds - first : TW_KEPT_ROUNDS;
      if (first) TW_MEET();
      for (int32_t round = 0; round < count; round++) {
        float sums[2];
        tw_share_held(sums, work, p, first + round, t);
        TW_UNROLL for (int32_t i = 0; i < 2; i++) {
          TW_UNROLL for (int32_t apart = 1; apart < TW_WARP; apart *= 2) sums[i] += tw_of_other_lane(sums[i], apart);
          if (t % TW_WARP == 0) tw_found[round][t / TW_WARP][i] = sums[i];
        }
      }
      TW_MEET();
      tw_end_rounds(work, p, first, count, squares, t);
    }
  }
}

#endif
