/* Matrix product of bytes that are both computed; int32 totals, optionally requantised.
 *
 * Some columns of b are laid out as filters are in conv_mve.c, then every row of a meets them. Unsigned bytes are
 * multiplied as signed ones, with 128 less. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_mve
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include <string.h>

#include "dots_mve.h"
#include "elements_mve.h"
#include "matmul_mve_sizes.h"

#define TW_FLIP(type) ((type)-1 < (type)0 ? 0 : 0x80)

/* What is the same for all matrices of a batch. */
typedef struct {
  const tw_matmul_params *p;
  const int32_t *mul, *add;
  int32_t chunks;         /* vectors of a row of a */
  int32_t zero_a, zero_b; /* of the signed bytes */
  int8_t *row, *panel;
  int32_t *start; /* of the totals of each column of the panel */
} work;

/* Bytes with sign, one behind the other; returns their sum. What is behind them stays as it is. */
TW_ALWAYS int32_t gather(int8_t *to, const void *from, int32_t step, int32_t count, int32_t flip) {
  const int8_t *x = from;
  int32_t sum = 0;
  if (step != 1) {
    for (int32_t i = 0; i < count; i++, x += step) {
      to[i] = (int8_t)(*x ^ flip);
      sum += to[i];
    }
    return sum;
  }
  for (int32_t i = 0; i < count; i += TW_VECTOR) {
    const mve_pred16_t some = vctp8q((uint32_t)(count - i));
    const int8x16_t loaded = veorq_s8(vldrbq_z_s8(x + i, some), vdupq_n_s8((int8_t)flip));
    vstrbq_p_s8(to + i, loaded, some);
    sum = vaddvaq_p_s8(sum, loaded, some);
  }
  return sum;
}

/* Columns of b in blocks of four: 16 elements of each side by side. */
static void load_panel(const work *k, const TW_B *b, int32_t columns) {
  const int32_t inner = k->p->inner, block = k->chunks * TW_FILTERS * TW_VECTOR;
  memset(k->panel, 0, (size_t)((columns + TW_FILTERS - 1) / TW_FILTERS * block));
  for (int32_t c = 0; c < columns; c++, b += k->p->b_column) {
    int8_t *to = k->panel + c / TW_FILTERS * block + c % TW_FILTERS * TW_VECTOR;
    int32_t sum = 0;
    for (int32_t i = 0; i < inner; i += TW_VECTOR, to += TW_FILTERS * TW_VECTOR) {
      sum += gather(to, b + i * k->p->b_row, k->p->b_row, tw_min(TW_VECTOR, inner - i), TW_FLIP(TW_B));
    }
    k->start[c] = (inner * k->zero_b - sum) * k->zero_a;
  }
}

/* Four values: neighbours, one for all, or zero where there are none. */
TW_ALWAYS int32x4_t four(const int32_t *from, int32_t step, mve_pred16_t some) {
  return !from ? vdupq_n_s32(0) : step ? vldrwq_z_s32(from, some) : vdupq_n_s32(*from);
}

/* The columns of the panel of a row, whose sum is known; `column` is the first of them. */
static void one_row(const work *k, const int32_t *c, int32_t row, int32_t sum, int32_t column, int32_t columns,
                    TW_Y *y) {
  const tw_matmul_params *const p = k->p;
  const int32_t chunks = k->chunks;
  const int8_t *w = k->panel;
  for (int32_t done = 0; done < columns; done += TW_FILTERS, y += TW_FILTERS) {
    const int32_t at = column + done, excess = sum * k->zero_b;
    const mve_pred16_t some = vctp32q((uint32_t)(columns - done));
    tw_totals t = {0, 0, 0, 0};
    for (int32_t i = 0; i < chunks; i++, w += TW_FILTERS * TW_VECTOR) {
      tw_multiply(&t, vldrbq_s8(k->row + i * TW_VECTOR), w);
    }
    int32x4_t total = vaddq_s32(tw_vector_of(t.t0, t.t1, t.t2, t.t3), vldrwq_z_s32(k->start + done, some));
    total = vsubq_n_s32(total, excess);
    total = vaddq_s32(total, four(c ? c + row * p->c_row + at * p->c_column : NULL, p->c_column, some));
    if (sizeof(TW_Y) < 4) {
      const tw_vector_limits limits = tw_vector_limits_of(&p->requant);
      const int32x4_t mul = four(k->mul + row * p->mul_row + at * p->mul_column, p->mul_column, some);
      const int32_t *const add = k->add ? k->add + row * p->add_row + at * p->add_column : NULL;
      total = tw_vector_requantise(TW_ANY_WAY, &limits, total, mul, four(add, p->add_column, some));
    }
    TW_PUT_FOUR(TW_Y, y, total, some);
  }
}

static void one_product(const work *k, int32_t most, const TW_A *a, const TW_B *b, const int32_t *c, TW_Y *y) {
  const tw_matmul_params *const p = k->p;
  for (int32_t column = 0; column < p->columns; column += most) {
    const int32_t columns = tw_min(most, p->columns - column);
    load_panel(k, b + column * p->b_column, columns);
    for (int32_t row = 0; row < p->rows; row++) {
      const int32_t sum = gather(k->row, a + row * p->a_row, p->a_column, p->inner, TW_FLIP(TW_A));
      one_row(k, c, row, sum, column, columns, y + row * p->y_row + column);
    }
  }
}

void TW_NAME(const tw_matmul_mve_params *params, const TW_A *a, const TW_B *b, const int32_t *c, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_matmul_params *const p = &params->product;
  const int32_t chunks = tw_row_vectors(p);
  int32_t *const start = scratch;
  int8_t *const row = (int8_t *)(start + params->columns);
  const work k = {p, mul, add, chunks, p->a_zero - TW_FLIP(TW_A), p->b_zero - TW_FLIP(TW_B), row,
                  row + chunks * TW_VECTOR, start};
  tw_batch at = {{0}, 0, 0, 0, 0};
  if (tw_batch_is_empty(p)) return;
  memset(row, 0, (size_t)(chunks * TW_VECTOR));
  do {
    one_product(&k, params->columns, a + at.a, b + at.b, c ? c + at.c : NULL, y + at.y);
  } while (tw_batch_next(p, &at));
}
