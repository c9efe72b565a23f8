/* The cores make results from what N-EUREKA has left. Each takes some pixels of four neighbouring filters at a time.
 *
 * Totals have their bias, but for bare ones, of one pixel. Where pixels at edges have another one, there are three more
 * rows of it: what is to be added at the right, at the bottom, at both. */
#ifndef TW_NEUREKA_FINISH_H
#define TW_NEUREKA_FINISH_H

#include "cluster.h"
#include "neureka_multiplied.h"
#include "neureka_runs.h"
#include "next_element.h"
#include "requant_words.h"

typedef struct {
  const tw_neureka_finished_params *p;
  const int32_t *totals, *bias, *mul, *add;
  TW_Y *y;
  int32_t filter; /* the first */
  int32_t count;  /* of filters: 4, or 1 where a layer has fewer than 4 */
} tw_finishing;

/* ---- pixels that have one bias ---- */

static inline int32_t tw_finish_wide(const tw_neureka_finished_params *p, int32_t total, int32_t mul, int32_t add) {
  return sizeof(TW_Y) <= 2 ? tw_requantise_words(&p->requant, total, mul, add) : tw_requantise(&p->requant, total, mul, add);
}

static inline int32_t tw_finish_one(const tw_neureka_finished_params *p, int32_t total, const int32_t *mul, const int32_t *add) {
  if (p->mode == TW_FINISH_PLAIN) return total;
  if (p->mode == TW_FINISH_EXACT) return tw_finish_wide(p, total, *mul, add ? *add : 0);
  return tw_run_result(p, total, *mul, add ? *add : 0);
}

/* One by one: few filters, words as results, or 64 bits. */
static TW_COMPACT void tw_finish_exactly(const tw_finishing *k, const tw_run *r) {
  const uint8_t *from = r->from;
  uint8_t *to = r->to;
  for (int32_t row = 0; row < r->rows; row++, from += r->from_gap, to += r->to_gap) {
    for (int32_t x = 0; x < r->columns; x++, from += r->from_step, to += r->to_step) {
      for (int32_t i = 0; i < k->count; i++) {
        const int32_t total = ((const int32_t *)(const void *)from)[i] + (r->bias ? r->bias[i] : 0);
        ((TW_Y *)(void *)to)[i] = (TW_Y)tw_finish_one(k->p, total, r->mul + i, r->add ? r->add + i : 0);
      }
    }
  }
}

/* By the high word of a product, where there may be ties. */
typedef struct {
  int32_t summand, shift, mask, low, top;
  int32_t odd; /* whether results that are even lie an odd number above the lowest */
} tw_high;

static inline tw_high tw_high_of(const tw_neureka_finished_params *p) {
  const tw_high h = {p->summand, p->shift, (1 << p->shift) - 1, p->low, p->top, (p->low - p->requant.zero_point) & 1};
  return h;
}

static inline int32_t tw_finish_high(const tw_high *h, int32_t total, int32_t mul) {
  const int32_t sum = (int32_t)((int64_t)total * mul >> 32) + h->summand;
  int32_t value = sum >> h->shift;
  if (TW_COLD(!(sum & h->mask))) {
    if ((uint32_t)total * (uint32_t)mul == 0) value -= (value ^ h->odd) & 1;
  }
  return tw_x_clipu(value, h->top) + h->low;
}

/* Results that may be ties, one filter after the other. */
static TW_COMPACT void tw_finish_ties(const tw_finishing *k, const tw_run *r) {
  const tw_high p = tw_high_of(k->p);
  for (int32_t i = 0; i < k->count; i++) {
    const uint8_t *from = r->from + i * (int32_t)sizeof(int32_t);
    uint8_t *to = r->to + i * (int32_t)sizeof(TW_Y);
    const int32_t mul = r->mul[i], bias = r->bias ? r->bias[i] : 0;
    for (int32_t row = 0; row < r->rows; row++, from += r->from_gap, to += r->to_gap) {
      for (int32_t x = 0; x < r->columns; x++, from += r->from_step, to += r->to_step) {
        *(TW_Y *)(void *)to = (TW_Y)tw_finish_high(&p, *(const int32_t *)(const void *)from + bias, mul);
      }
    }
  }
}

#if TW_XPULP
#if defined(TW_COREV)
#define TW_A_STORE_OTHER ".insn r 0x2b, 3, %[kind], %[step], %[at], %[e]\n"
#else
#define TW_A_STORE_OTHER ".insn r 0x2b, %[kind], 0, %[step], %[at], %[e]\n"
#endif

/* A row of 16-bit results of one filter that use the whole range, two at a time. The summand is counted from 0. */
static inline void tw_finish_whole_halves(const uint8_t *from, int32_t from_step, uint8_t *to, int32_t to_step,
                                          int32_t pairs, int32_t mul, int32_t summand, int32_t shift) {
  int32_t a, b;
  __asm__ volatile(
      TW_A_BEGIN TW_A_LOOP("%[pairs]", 10) TW_A_LW_STEP("%[d]", "%[from]", "%[from_step]")
      TW_A_LW_STEP("%[e]", "%[from]", "%[from_step]") "mulh %[d], %[d], %[mul]\nmulh %[e], %[e], %[mul]\n"
      TW_A_R(TW_E_ADDN, "%[d]", "%[summand]", "%[shift]") TW_A_R(TW_E_ADDN, "%[e]", "%[summand]", "%[shift]")
      TW_A_R(TW_E_CLIP, "%[d]", "%[d]", "%[high]") TW_A_R(TW_E_CLIP, "%[e]", "%[e]", "%[high]")
      TW_A_STORE_STEP TW_A_STORE_OTHER TW_A_END
      : [d] "=&r"(a), [e] "=&r"(b), [from] "+r"(from), [at] "+r"(to)
      : [pairs] "r"(pairs), [from_step] "r"(from_step), [mul] "r"(mul), [summand] "r"(summand), [shift] "r"(shift),
        [high] "r"(INT16_MAX), [step] "r"(to_step), [kind] "i"(TW_I_STORE_STEP(2))
      : "memory");
}
#endif

/* Results of 16 bits by high words, one filter after the other. */
static TW_COMPACT void tw_finish_halves(const tw_finishing *k, const tw_run *r) {
  const int32_t summand = k->p->summand, shift = k->p->shift, top = k->p->top, low = k->p->low;
  const int32_t from_step = r->from_step, to_step = r->to_step;
  const int is_whole = !r->bias && top == UINT16_MAX && low == INT16_MIN && shift < 15;
  for (int32_t i = 0; i < k->count; i++) {
    const uint8_t *from = r->from + i * (int32_t)sizeof(int32_t);
    uint8_t *to = r->to + i * (int32_t)sizeof(TW_Y);
    const int32_t mul = r->mul[i], bias = r->bias ? r->bias[i] : 0;
    for (int32_t row = 0; row < r->rows; row++, from += r->from_gap, to += r->to_gap) {
#if TW_XPULP
      int32_t columns = r->columns, t;
      if (is_whole && columns > 1) {
        const int32_t pairs = columns >> 1;
        tw_finish_whole_halves(from, from_step, to, to_step, pairs, mul, summand - (1 << 15 << shift), shift);
        from += 2 * pairs * from_step, to += 2 * pairs * to_step, columns &= 1;
      }
      if (columns == 0) continue;
      __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[columns]", 7) TW_A_LW_STEP("%[d]", "%[from]", "%[from_step]")
                       "add %[d], %[d], %[bias]\nmulh %[d], %[d], %[mul]\n"
                       TW_A_R(TW_E_ADDN, "%[d]", "%[summand]", "%[shift]") TW_A_R(TW_E_CLIPU, "%[d]", "%[d]", "%[top]")
                       "add %[d], %[d], %[low]\n" TW_A_STORE_STEP TW_A_END
                       : [d] "=&r"(t), [from] "+r"(from), [at] "+r"(to)
                       : [columns] "r"(columns), [from_step] "r"(from_step), [bias] "r"(bias), [mul] "r"(mul),
                         [summand] "r"(summand), [shift] "r"(shift), [top] "r"(top), [low] "r"(low), [step] "r"(to_step),
                         [kind] "i"(TW_I_STORE_STEP(2))
                       : "memory");
#else
      (void)is_whole;
      for (int32_t x = 0; x < r->columns; x++, from += from_step, to += to_step) {
        const int64_t product = (int64_t)(*(const int32_t *)(const void *)from + bias) * mul;
        *(TW_Y *)(void *)to = (TW_Y)(tw_x_clipu(((int32_t)(product >> 32) + summand) >> shift, top) + low);
      }
#endif
    }
  }
}

static TW_COMPACT void tw_finish_run(const tw_finishing *k, const tw_run *r) {
  if (sizeof(TW_Y) == 2 && k->p->mode == TW_FINISH_HIGH) {
    tw_finish_halves(k, r);
  } else if (k->p->mode == TW_FINISH_TIES) {
    tw_finish_ties(k, r);
  } else if (sizeof(TW_Y) != 1 || k->count < 4 || k->p->mode == TW_FINISH_EXACT) {
    tw_finish_exactly(k, r);
  } else {
    tw_run_all(k->p, r);
  }
}

/* ---- rows of an image ---- */

/* Some neighbouring rows and columns that have one of the biases; rows are counted from the first of r. */
static inline void tw_finish_block(const tw_finishing *k, const tw_run *r, int32_t row, int32_t rows, int32_t column,
                                   int32_t columns, int32_t edge) {
  const tw_neureka_finished_params *const p = k->p;
  const int32_t from_row = p->source_row * (int32_t)sizeof(int32_t), to_row = p->columns * r->to_step;
  tw_run part = *r;
  part.from += row * from_row + column * r->from_step;
  part.to += row * to_row + column * r->to_step;
  part.rows = rows, part.columns = columns;
  part.from_gap = from_row - columns * r->from_step, part.to_gap = to_row - columns * r->to_step;
  part.bias = edge ? r->bias + edge * p->filters : 0;
  if (columns == 1) {
    part.rows = 1, part.columns = rows;
    part.from_step = from_row, part.to_step = to_row;
  } else if (part.from_gap == 0 && part.to_gap == 0) {
    part.rows = 1, part.columns = rows * columns;
  }
  if (rows > 0 && columns > 0) tw_finish_run(k, &part);
}

static inline void tw_finish_rows(const tw_finishing *k, tw_run *r, int32_t image, int32_t first, int32_t end) {
  const tw_neureka_finished_params *const p = k->p;
  const int32_t right = p->over_right, bottom = p->over_bottom && end == p->rows;
  const int32_t rows = end - first - bottom, columns = p->columns - right;
  r->from = (const uint8_t *)(k->totals + image * p->source_image + first * p->source_row + k->filter);
  r->to = (uint8_t *)(k->y + (image * p->rows + first) * p->columns * p->filters + k->filter);
  tw_finish_block(k, r, 0, rows, 0, columns, 0);
  if (right) tw_finish_block(k, r, 0, rows, columns, 1, 1);
  if (bottom) tw_finish_block(k, r, rows, 1, 0, columns, 2);
  if (right && bottom) tw_finish_block(k, r, rows, 1, columns, 1, 3);
}

/* ---- all ---- */

/* Rows from `first` to before `end`, counted over all images, of some filters. */
static inline void tw_finish_filters(tw_finishing *k, int32_t filter, int32_t first, int32_t end) {
  const tw_neureka_finished_params *const p = k->p;
  const int32_t rows = p->rows;
  tw_run r;
  k->filter = filter;
  r.bias = k->bias + filter, r.mul = k->mul + filter, r.add = k->add ? k->add + filter : 0;
  r.from_step = p->source_pixel * (int32_t)sizeof(int32_t), r.to_step = p->filters * (int32_t)sizeof(TW_Y);
  for (int32_t image = 0; first < end; image++, first -= rows, end -= rows) {
    if (first >= rows) continue;
    tw_finish_rows(k, &r, image, first, tw_x_min(end, rows));
    first = rows;
  }
}

/* count / parts, where parts are teams or the cores of a team. */
static inline int32_t tw_finish_divided(int32_t count, int32_t parts) {
  if (parts == TW_CORES) return (int32_t)((uint32_t)count / TW_CORES);
  return count >> tw_x_ff1((uint32_t)parts);
}

/* A run takes as long as so many pixels more. */
#define TW_RUN_PIXELS 6

/* How many teams of cores share the groups of filters; the cores of a team share the rows. Each core alone, or as many
 * teams as share the groups evenly: all cores are one, or where they are a power of two some power of two. Divisions by
 * other numbers would take long. */
static inline int32_t tw_finish_teams(int32_t groups, int32_t pixels) {
  const int32_t even = TW_CORES & (TW_CORES - 1) ? 1 : groups & -groups;
  if (groups % TW_CORES == 0 || even >= TW_CORES) return TW_CORES;
  const int32_t own = tw_finish_divided(pixels, tw_finish_divided(TW_CORES, even)) + TW_RUN_PIXELS;
  const int32_t alone = (groups + TW_CORES - 1) / TW_CORES * (pixels + TW_RUN_PIXELS);
  return alone <= tw_finish_divided(groups, even) * own ? TW_CORES : even;
}

static inline void tw_finish_totals(tw_finishing *k) {
  const tw_neureka_finished_params *const p = k->p;
  k->count = p->filters < 4 ? 1 : 4;
  const int32_t groups = k->count == 4 ? (p->filters + 3) >> 2 : p->filters, rows = p->images * p->rows;
  const int32_t teams = tw_finish_teams(groups, rows * p->columns), size = tw_finish_divided(TW_CORES, teams);
  const int32_t team = tw_finish_divided(tw_core(), size), member = tw_core() - team * size;
  const int32_t first = tw_finish_divided(rows * member, size), end = tw_finish_divided(rows * (member + 1), size);
  const int32_t last = tw_finish_divided(groups * (team + 1), teams);
  for (int32_t group = tw_finish_divided(groups * team, teams); group < last; group++) {
    /* The last group has some filters of the one before, with the same results. */
    tw_finish_filters(k, tw_x_min(group * k->count, p->filters - k->count), first, end);
  }
}

/* ---- one row of results ---- */

/* Filters are all that there is to share, and a core's are neighbours: nothing is set up for four of them at a time. */
static inline int tw_is_one_row(const tw_neureka_finished_params *p) {
  const int is_single = p->images == 1 && p->rows == 1 && p->columns == 1 && !(p->over_right | p->over_bottom);
  return is_single && p->mode != TW_FINISH_PLAIN && p->mode != TW_FINISH_NARROW && p->mode != TW_FINISH_TOP;
}

/* What a core has of the only pixel. Totals are made larger; then a bias, where there is one, is added. */
typedef struct {
  const int32_t *total, *bias, *mul;
  TW_Y *y;
  int32_t count;
} tw_pixel_share;

static inline int32_t tw_pixel_total(const tw_pixel_share *s, int32_t up, int32_t i) {
  return (int32_t)((uint32_t)s->total[i] << up) + (s->bias ? s->bias[i] : 0);
}

#if TW_XPULP
#define TW_A_PIXEL_LOAD TW_A_LW("%[t]", "%[total]", "4") TW_A_LW("%[m]", "%[mul]", "4") "sll %[t], %[t], %[up]\n"
#define TW_A_PIXEL_BIAS TW_A_LW("%[b]", "%[bias]", "4") "add %[t], %[t], %[b]\n"
#define TW_A_PIXEL_HIGH                                                                           \
  "mulh %[t], %[t], %[m]\n" TW_A_R(TW_E_ADDN, "%[t]", "%[summand]", "%[shift]")                   \
  TW_A_R(TW_E_CLIPU, "%[t]", "%[t]", "%[top]") "add %[t], %[t], %[low]\n" TW_A_PIXEL_STORE TW_A_END
#define TW_A_PIXEL_STORE ".insn s 0x2b, %[store], %[t], %[bytes](%[y])\n"
#define TW_PIXEL_STORE [store] "i"(sizeof(TW_Y) == 1 ? 0 : sizeof(TW_Y) == 2 ? 1 : 2), [bytes] "i"(sizeof(TW_Y))
#endif

static inline void tw_finish_pixel_high(const tw_neureka_finished_params *p, const tw_pixel_share *s) {
  const int32_t summand = p->summand, shift = p->shift, top = p->top, low = p->low, count = s->count;
#if TW_XPULP
  const int32_t *total = s->total, *mul = s->mul, *bias = s->bias, up = p->up;
  TW_Y *y = s->y;
  int32_t t, m, b;
  if (bias) {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[count]", 10) TW_A_PIXEL_LOAD TW_A_PIXEL_BIAS TW_A_PIXEL_HIGH
                     : [t] "=&r"(t), [m] "=&r"(m), [b] "=&r"(b), [total] "+r"(total), [mul] "+r"(mul),
                       [bias] "+r"(bias), [y] "+r"(y)
                     : [count] "r"(count), [summand] "r"(summand), [shift] "r"(shift), [top] "r"(top), [low] "r"(low),
                       [up] "r"(up), TW_PIXEL_STORE
                     : "memory");
    return;
  }
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[count]", 8) TW_A_PIXEL_LOAD TW_A_PIXEL_HIGH
                   : [t] "=&r"(t), [m] "=&r"(m), [total] "+r"(total), [mul] "+r"(mul), [y] "+r"(y)
                   : [count] "r"(count), [summand] "r"(summand), [shift] "r"(shift), [top] "r"(top), [low] "r"(low),
                     [up] "r"(up), TW_PIXEL_STORE
                   : "memory");
#else
  for (int32_t i = 0; i < count; i++) {
    const int32_t value = ((int32_t)((int64_t)tw_pixel_total(s, p->up, i) * s->mul[i] >> 32) + summand) >> shift;
    s->y[i] = (TW_Y)(tw_x_clipu(value, top) + low);
  }
#endif
}

#if TW_XPULP
/* Without a branch: a sum whose lower word is zero loses one if its result would be odd, which matters for ties only. */
#define TW_A_PIXEL_TIES                                                                                       \
  "mul %[m], %[t], %[n]\nmulh %[t], %[t], %[n]\nsltiu %[m], %[m], 1\nadd %[t], %[t], %[summand]\n"            \
  "sra %[n], %[t], %[shift]\nxor %[n], %[n], %[odd]\nand %[n], %[n], %[m]\nsub %[t], %[t], %[n]\n"            \
  "sra %[t], %[t], %[shift]\n" TW_A_R(TW_E_CLIPU, "%[t]", "%[t]", "%[top]") "add %[t], %[t], %[low]\n"        \
  TW_A_PIXEL_STORE TW_A_END
#endif

static inline void tw_finish_pixel_ties(const tw_neureka_finished_params *params, const tw_pixel_share *s) {
  const tw_high p = tw_high_of(params);
  const int32_t count = s->count, up = params->up;
#if TW_XPULP
  const int32_t *total = s->total, *mul = s->mul, *bias = s->bias;
  TW_Y *y = s->y;
  int32_t t, m, n;
  if (bias) {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[count]", 17) TW_A_LW("%[t]", "%[total]", "4") TW_A_LW("%[m]", "%[bias]", "4")
                     TW_A_LW("%[n]", "%[mul]", "4") "sll %[t], %[t], %[up]\nadd %[t], %[t], %[m]\n" TW_A_PIXEL_TIES
                     : [t] "=&r"(t), [m] "=&r"(m), [n] "=&r"(n), [total] "+r"(total), [mul] "+r"(mul),
                       [bias] "+r"(bias), [y] "+r"(y)
                     : [count] "r"(count), [summand] "r"(p.summand), [shift] "r"(p.shift), [odd] "r"(p.odd),
                       [top] "r"(p.top), [low] "r"(p.low), [up] "r"(up), TW_PIXEL_STORE
                     : "memory");
    return;
  }
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[count]", 15) TW_A_LW("%[t]", "%[total]", "4") TW_A_LW("%[n]", "%[mul]", "4")
                   "sll %[t], %[t], %[up]\n" TW_A_PIXEL_TIES
                   : [t] "=&r"(t), [m] "=&r"(m), [n] "=&r"(n), [total] "+r"(total), [mul] "+r"(mul), [y] "+r"(y)
                   : [count] "r"(count), [summand] "r"(p.summand), [shift] "r"(p.shift), [odd] "r"(p.odd),
                     [top] "r"(p.top), [low] "r"(p.low), [up] "r"(up), TW_PIXEL_STORE
                   : "memory");
#else
  for (int32_t i = 0; i < count; i++) s->y[i] = (TW_Y)tw_finish_high(&p, tw_pixel_total(s, up, i), s->mul[i]);
#endif
}

/* Each filter has its own shift. */
static inline void tw_finish_pixel_scaled(const tw_neureka_finished_params *p, const tw_pixel_share *s,
                                          const int32_t *exponent) {
  const int32_t less = p->bound, summand = p->summand, halves = p->shift, top = p->top, low = p->low, up = p->up;
  for (int32_t i = 0; i < s->count; i++) {
    const int32_t total = tw_pixel_total(s, up, i), right = -exponent[i];
    const int32_t high = (int32_t)((int64_t)total * s->mul[i] >> 32) - ((total >> 31) & less);
    s->y[i] = (TW_Y)(tw_x_clipu((high + summand + (halves << right)) >> (right + 1), top) + low);
  }
}

/* Some neighbouring results. */
static __attribute__((noinline)) void tw_finish_part(const tw_finishing *k, const int32_t *totals, int32_t first,
                                                     int32_t count) {
  const tw_neureka_finished_params *const p = k->p;
  const int32_t *const bias = p->bare && k->bias ? k->bias + first : 0;
  const tw_pixel_share s = {totals, bias, k->mul + first, k->y + first, count};
  if (p->mode == TW_FINISH_TIES) {
    tw_finish_pixel_ties(p, &s);
  } else if (p->mode == TW_FINISH_HIGH) {
    tw_finish_pixel_high(p, &s);
  } else if (TW_IS_SCALED(p)) {
    tw_finish_pixel_scaled(p, &s, k->add + first);
  } else {
    for (int32_t i = 0; i < count; i++) {
      s.y[i] = (TW_Y)tw_finish_wide(p, tw_pixel_total(&s, p->up, i), s.mul[i], k->add ? k->add[first + i] : 0);
    }
  }
}

static inline void tw_finish_row(const tw_finishing *k) {
  const tw_share share = tw_share_of(k->p->filters);
  const int32_t first = share.first;
  if (first < share.end) tw_finish_part(k, k->totals + first, first, share.end - first);
}

/* Few pixels with results of 16 bits: filters are neighbours, so that it takes less to go along them. */
#define TW_FEW_PIXELS 32

static inline int tw_has_few_pixels(const tw_neureka_finished_params *p) {
  const int is_dense = p->columns == 1 && p->source_row == p->filters && !(p->over_right | p->over_bottom);
  return is_dense && sizeof(TW_Y) == 2 && p->mode == TW_FINISH_HIGH && p->images * p->rows <= TW_FEW_PIXELS;
}

static inline void tw_finish_pixels(const tw_finishing *k) {
  const int32_t filters = k->p->filters;
  const tw_share share = tw_share_of(k->p->images * k->p->rows * filters);
  tw_finishing pixel;
  pixel.p = k->p, pixel.totals = k->totals, pixel.bias = k->bias, pixel.mul = k->mul, pixel.add = k->add;
  int32_t at = (int32_t)((uint32_t)share.first / (uint32_t)filters) * filters, first = share.first - at;
  for (int32_t left = share.end - share.first; left > 0; at += filters, first = 0) {
    const int32_t count = tw_x_min(left, filters - first);
    pixel.y = k->y + at;
    tw_finish_part(&pixel, k->totals + at + first, first, count);
    left -= count;
  }
}

/* ---- results that are only copied ---- */

static inline void tw_finish_copy_pixel(uint8_t *to, const uint8_t *from, int32_t bytes) {
  for (; bytes >= 16; bytes -= 16, to += 16, from += 16) {
    const uint32_t a = tw_x_load(from), b = tw_x_load(from + 4), c = tw_x_load(from + 8), d = tw_x_load(from + 12);
    tw_x_store(to, a);
    tw_x_store(to + 4, b);
    tw_x_store(to + 8, c);
    tw_x_store(to + 12, d);
  }
  for (; bytes >= 4; bytes -= 4, to += 4, from += 4) tw_x_store(to, tw_x_load(from));
  for (; bytes > 0; bytes--) *to++ = *from++;
}

/* Words that are equally far apart. */
static inline void tw_finish_copy_words(const uint8_t *from, int32_t from_step, uint8_t *to, int32_t to_step, int32_t count) {
#if TW_XPULP
  uint32_t first, second;
  if (count >= 2) {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 4) TW_A_LW_STEP("%[first]", "%[from]", "%[from_step]")
                     TW_A_LW_STEP("%[second]", "%[from]", "%[from_step]") TW_A_SW_STEP("%[first]", "%[to]", "%[to_step]")
                     TW_A_SW_STEP("%[second]", "%[to]", "%[to_step]") TW_A_END
                     : [from] "+r"(from), [to] "+r"(to), [first] "=&r"(first), [second] "=&r"(second)
                     : [pairs] "r"(count >> 1), [from_step] "r"(from_step), [to_step] "r"(to_step)
                     : "memory");
  }
  count &= 1;
#endif
  for (; count > 0; count--, from += from_step, to += to_step) tw_x_store(to, tw_x_load(from));
}

/* Pixels of few words, a row of them at a time; where rows are one pixel, an image. */
#define TW_FEW_BYTES 16
static inline void tw_finish_copy_few(const tw_neureka_finished_params *p, const uint8_t *from, uint8_t *y, int32_t bytes) {
  const int32_t is_narrow = p->columns == 1, size = (int32_t)sizeof(TW_Y);
  const int32_t length = is_narrow ? p->rows : p->columns, step = size * (is_narrow ? p->source_row : p->source_pixel);
  const tw_share share = tw_share_of(p->images * p->rows * p->columns);
  int32_t row = (int32_t)((uint32_t)share.first / (uint32_t)length), x = share.first - row * length;
  for (int32_t i = share.first; i < share.end; row++, x = 0) {
    const int32_t image = is_narrow ? row : (int32_t)((uint32_t)row / (uint32_t)p->rows);
    const int32_t own = is_narrow ? 0 : row - image * p->rows, count = tw_x_min(share.end - i, length - x);
    const uint8_t *const first = from + size * (image * p->source_image + own * p->source_row) + x * step;
    for (int32_t at = 0; at < bytes; at += 4) tw_finish_copy_words(first + at, step, y + i * bytes + at, bytes, count);
    i += count;
  }
}

static inline void tw_finish_copy(const tw_neureka_finished_params *p, const TW_Y *from, TW_Y *y) {
  const int32_t bytes = p->filters * (int32_t)sizeof(TW_Y);
  if (bytes <= TW_FEW_BYTES && !(bytes & 3)) {
    tw_finish_copy_few(p, (const uint8_t *)from, (uint8_t *)y, bytes);
    return;
  }
  const tw_share share = tw_share_of(p->images * p->rows * p->columns);
  int32_t row = (int32_t)((uint32_t)share.first / (uint32_t)p->columns), x = share.first - row * p->columns;
  int32_t image = (int32_t)((uint32_t)row / (uint32_t)p->rows);
  row -= image * p->rows;
  for (int32_t i = share.first; i < share.end; i++) {
    const TW_Y *const pixel = from + image * p->source_image + row * p->source_row + x * p->source_pixel;
    tw_finish_copy_pixel((uint8_t *)(y + i * p->filters), (const uint8_t *)pixel, bytes);
    if (++x < p->columns) continue;
    x = 0;
    if (++row == p->rows) row = 0, image++;
  }
}

static inline void tw_finish_all(const tw_neureka_finished_params *p, const int32_t *mul, const int32_t *bias,
                                 const int32_t *add, TW_Y *y, void *scratch) {
  if (p->mode == TW_FINISH_COPY) {
    tw_finish_copy(p, scratch, y);
    return;
  }
  if (sizeof(TW_Y) == 2 && p->mode == TW_FINISH_MULTIPLIED) {
    tw_finish_multiplied(p, scratch, bias, y, 0, 0);
    return;
  }
  tw_finishing k;
  k.p = p, k.totals = scratch, k.bias = bias, k.mul = mul, k.add = add, k.y = y;
  if (tw_is_one_row(p)) {
    tw_finish_row(&k);
  } else if (tw_has_few_pixels(p)) {
    tw_finish_pixels(&k);
  } else {
    tw_finish_totals(&k);
  }
}

#endif
