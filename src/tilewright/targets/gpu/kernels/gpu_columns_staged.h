/* Weights in shared memory, for gpu_columns.h: `held` rounds of a group at once, each in the place of the one so many
 * before. The first ones come while the launches before go on. */
#ifndef TW_GPU_COLUMNS_STAGED_H
#define TW_GPU_COLUMNS_STAGED_H

enum { TW_PARTS = TW_PIECE / 4, TW_MOST_PENDING = 4 };

typedef struct {
  float at[4];
} __attribute__((aligned(16), may_alias)) tw_four_of_x;

/* x, and behind it the weights. A piece of x lies in parts of four elements, all first parts before all second ones:
 * neighbours then read neighbours. */
TW_GROUP_DYNAMIC(tw_weights, tw_staged);

TW_GPU TW_LOCAL tw_four_of_x *tw_part_of_x(const tw_columns *p, int32_t part, int32_t piece) {
  return (TW_LOCAL tw_four_of_x *)tw_staged + part * (p->inner / TW_PIECE) + piece;
}

/* Where the first of the two rows of w lie that the warps of an item have in a round; the other one is behind it. */
TW_GPU TW_LOCAL tw_weights *tw_staged_rows(const tw_columns *p, int32_t round, int32_t t) {
  const int32_t teams = TW_WARPS / p->sharing, team = t / (TW_WARP * p->sharing);
  return tw_staged + p->inner / 4 + (round % p->held * teams + team) * 2 * (p->inner / TW_PIECE);
}

/* What copies of a round are counted as goes on behind the last one. */
TW_GPU void tw_stage(const tw_work *work, const tw_columns *p, int32_t round, int32_t t) {
  const int32_t lanes = TW_WARP * p->sharing, pieces = p->inner / TW_PIECE;
  if (round < tw_rounds(p)) {
    const tw_two_rows rows = tw_rows_there(work, p, round, t);
    TW_LOCAL tw_weights *const to = tw_staged_rows(p, round, t);
    TW_UNROLL_BY(4)
    for (int32_t i = t % lanes; i < pieces; i += lanes) {
      tw_copy_16(to + i, rows.one + i * TW_PIECE, 1);
      tw_copy_16(to + pieces + i, rows.other + i * TW_PIECE, 1);
    }
  }
  tw_copies_commit();
}

/* The first rounds; and scales, where their elements of x will be. */
TW_GPU void tw_stage_first(const tw_work *work, const tw_columns *p, const float *scale, int32_t t) {
  for (int32_t round = 0; round < p->held; round++) tw_stage(work, p, round, t);
  for (int32_t i = t; scale && i < p->inner / TW_PIECE; i += TW_GROUP_SIZE) {
    TW_UNROLL for (int32_t part = 0; part < TW_PARTS; part++) {
      *tw_part_of_x(p, part, i) = *(const tw_four_of_x *)(scale + i * TW_PIECE + part * 4);
    }
  }
}

/* x, scaled where there is a scale; an item's part of the sum of squares before that. */
TW_GPU float tw_bring_row(const tw_columns *p, const TW_FACTOR *x, const float *scale, int32_t t) {
  float squares = 0.0f;
  TW_UNROLL_BY(4)
  for (int32_t i = t; i < p->inner / TW_PIECE; i += TW_GROUP_SIZE) {
    const tw_elements piece = *(const tw_elements *)(x + i * TW_PIECE);
    TW_UNROLL for (int32_t part = 0; part < TW_PARTS; part++) {
      TW_LOCAL tw_four_of_x *const to = tw_part_of_x(p, part, i);
      tw_four_of_x some = {{1.0f, 1.0f, 1.0f, 1.0f}};
      if (scale) some = *to;
      TW_UNROLL for (int32_t k = 0; k < 4; k++) {
        const float element = TW_OF_WORDS(TW_FACTOR, TW_FACTOR_LOAD, piece.at, part * 4 + k);
        squares += element * element;
        some.at[k] *= element;
      }
      *to = some;
    }
  }
  return squares;
}

/* Waits until no more than so many rounds are on their way. */
TW_GPU void tw_rounds_pending(int32_t count) {
  switch (count < TW_MOST_PENDING ? count : TW_MOST_PENDING) {
    case 0: tw_copies_pending(0); break;
    case 1: tw_copies_pending(1); break;
    case 2: tw_copies_pending(2); break;
    case 3: tw_copies_pending(3); break;
    default: tw_copies_pending(4); break;
  }
}

/* An item's share of the sums of two columns. */
TW_GPU void tw_share_staged(float *sums, const tw_work *work, const tw_columns *p, int32_t round, int32_t t) {
  const int32_t lanes = TW_WARP * p->sharing, pieces = p->inner / TW_PIECE;
  const TW_LOCAL tw_weights *const rows = tw_staged_rows(p, round, t);
  tw_rounds_pending(p->held - 1);
  sums[0] = sums[1] = 0.0f;
  TW_UNROLL_BY(4)
  for (int32_t i = t % lanes; i < pieces; i += lanes) {
    const tw_weights one = rows[i], other = rows[pieces + i];
    TW_UNROLL for (int32_t part = 0; part < TW_PARTS; part++) {
      const tw_four_of_x some = *tw_part_of_x(p, part, i);
      TW_UNROLL for (int32_t k = 0; k < 4; k++) {
        sums[0] += some.at[k] * TW_OF_WORDS(TW_WEIGHT, TW_WEIGHT_LOAD, one.at, part * 4 + k);
        sums[1] += some.at[k] * TW_OF_WORDS(TW_WEIGHT, TW_WEIGHT_LOAD, other.at, part * 4 + k);
      }
    }
  }
  tw_stage(work, p, round + p->held, t);
}

#define TW_ROUND(T, ROUND) tw_share_staged(sums[TW_OWN(T)], work, p, ROUND, T)

#endif
