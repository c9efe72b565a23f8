/* Attention of masked scores, four rows of a head at a time: from products to shares (quad_group.h), which meet rows of four
 * values, stored anew. What no row has shares of is not multiplied. */
#include "masked_attention.h"

#ifndef TW_NAME
#define TW_NAME tw_masked_quads_i8
#define TW_M int8_t
#endif

#include "quad_group.h"
#include "turned_values.h"

/* ---- results ---- */

/* What the products of four rows of shares and four columns of values are made of, and become; offsets are known to the
 * assembly below. */
typedef struct {
  const uint8_t *x;
  int32_t step, back; /* of x: to the next row, and from the last to the next word of the first */
  const uint32_t *v;
  int32_t words;
  int32_t less, add, shift, top; /* as in tw_narrowing; the factor less one */
  uint32_t low;
  int8_t *y;
  int32_t y_row;
} mixing;

#if TW_XPULP
#define TW_A_MIX(t0, t1, t2, t3, x)                                                                   \
  TW_A_R(TW_E_SDOTUSP4, t0, x, "s10") TW_A_R(TW_E_SDOTUSP4, t1, x, "s11") TW_A_R(TW_E_SDOTUSP4, t2, x, "t5") \
  TW_A_R(TW_E_SDOTUSP4, t3, x, "t6")
#define TW_A_EACH_TOTAL(DO)                                                                           \
  DO("ra") DO("t0") DO("t1") DO("t2") DO("t3") DO("t4") DO("a6") DO("a7") DO("s2") DO("s3") DO("s4") DO("s5") DO("s6") \
  DO("s7") DO("s8") DO("s9")
#define TW_A_CLEAR(t) "li " t ", 0\n"
#define TW_A_MAC_ITSELF(t) TW_A_R(TW_E_MAC, t, t, "a1")
#define TW_A_ADD_SHIFT(t) TW_A_R(TW_E_ADDN, t, "a2", "a3")
#define TW_A_CLIP_TOP(t) TW_A_R(TW_E_CLIPU, t, t, "a4")
#define TW_A_STORE_ROW(t0, t1, t2, t3) \
  TW_A_PACK4(t0, t1, t2, t3) TW_A_R(TW_E_ADD4, t0, t0, "a5") TW_A_SW_STEP(t0, "s0", "s1")

/* 24 instructions for 64 products. A product is added in one cycle but made in two: totals are added to themselves. */
static inline void mix_words(const mixing *m) {
  register const mixing *at __asm__("a0") = m;
  __asm__ volatile(
      "lw a1, 0(a0)\nlw a2, 4(a0)\nlw a3, 8(a0)\nlw a4, 12(a0)\nlw a5, 16(a0)\n" TW_A_EACH_TOTAL(TW_A_CLEAR)
      TW_A_BEGIN TW_A_LOOP("a5", 24) TW_A_LW_STEP("s0", "a1", "a2") TW_A_LW("s10", "a4", "4") TW_A_LW("s11", "a4", "4")
      TW_A_LW("t5", "a4", "4") TW_A_LW("t6", "a4", "4") TW_A_LW_STEP("s1", "a1", "a2")
      TW_A_MIX("ra", "t0", "t1", "t2", "s0") TW_A_LW_STEP("s0", "a1", "a2") TW_A_MIX("t3", "t4", "a6", "a7", "s1")
      TW_A_LW_STEP("s1", "a1", "a3") TW_A_MIX("s2", "s3", "s4", "s5", "s0") TW_A_MIX("s6", "s7", "s8", "s9", "s1")
      TW_A_END
      "lw a1, 20(a0)\nlw a2, 24(a0)\nlw a3, 28(a0)\nlw a4, 32(a0)\nlw a5, 36(a0)\nlw s0, 40(a0)\nlw s1, 44(a0)\n"
      TW_A_EACH_TOTAL(TW_A_MAC_ITSELF) TW_A_EACH_TOTAL(TW_A_ADD_SHIFT) TW_A_EACH_TOTAL(TW_A_CLIP_TOP)
      TW_A_STORE_ROW("ra", "t0", "t1", "t2") TW_A_STORE_ROW("t3", "t4", "a6", "a7")
      TW_A_STORE_ROW("s2", "s3", "s4", "s5") TW_A_STORE_ROW("s6", "s7", "s8", "s9")
      : "+r"(at)
      :
      : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s0", "s1", "s2",
        "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11");
}
#else
static inline void mix_words(const mixing *m) {
  for (int32_t i = 0; i < 16; i++) {
    const uint8_t *const x = m->x + (i >> 2) * m->step;
    int32_t total = 0;
    for (int32_t at = 0; at < m->words; at++) total = tw_x_sdotusp4(total, tw_x_load(x + 4 * at), m->v[4 * at + (i & 3)]);
    const int32_t result = tw_x_clipu(tw_x_addn(tw_x_mac(total, total, m->less), (uint32_t)m->add, (uint32_t)m->shift), m->top);
    m->y[(i >> 2) * m->y_row + (i & 3)] = (int8_t)(result + (int32_t)(m->low & 0xff));
  }
}
#endif

/* Words without shares are 0 up to those of the row that has most. */
static TW_COMPACT void clear_words(const line *lines, uint8_t *x, int32_t step, int32_t most) {
  for (int32_t i = 0; i < 4; i++, x += step) {
    for (int32_t word = lines[i].words; word < most; word++) tw_x_store(x + 4 * word, 0);
  }
}

static __attribute__((noinline)) void mix_quads(const quad_group *g, mixing *m) {
  const line *lines = g->lines;
  uint8_t *x = g->x;
  for (int32_t i = 0; i < g->count; i++, lines += 4, x += 4 * g->step) {
    const int32_t w0 = lines[0].words, w1 = lines[1].words, w2 = lines[2].words, w3 = lines[3].words;
    m->words = tw_x_max(tw_x_max(w0, w1), tw_x_max(w2, w3));
    if (tw_x_min(tw_x_min(w0, w1), tw_x_min(w2, w3)) < m->words) clear_words(lines, x, g->step, m->words);
    m->x = x;
    m->v = g->quads[i].v;
    m->y = g->quads[i].y;
    mix_words(m);
  }
}

static inline void begin_mixing(const tw_masked_attention_params *p, int32_t step, mixing *m) {
  m->step = step;
  m->back = 4 - 3 * step;
  m->less = p->mix.mul - 1;
  m->add = p->mix.add;
  m->shift = p->mix.shift;
  m->top = p->mix.top;
  m->low = p->low;
  m->y_row = p->y_row;
}

/* ---- the call ---- */

/* Of each core, with its rows behind it. */
typedef struct {
  mixing mix;
  quad_group group;
  uint8_t results[256]; /* as in tw_share_tables: small shares are many, and cores would wait for each other there */
  uint32_t before[2]; /* the first row; and so cores begin in different banks */
} own_memory;

/* Masks of all rows, by all cores together; one where rows have the same. */
static void set_quad_masks(const tw_masked_softmax_params *p, const TW_M *m, int32_t quads, const alike_columns *quiet,
                           quad_mask *masks) {
  const tw_share share = tw_share_of(p->mask_row ? quads : 1);
  for (int32_t i = share.first; i < share.end; i++) {
    set_quad_mask(p, m + tw_x_min(4 * i, p->rows - 4) * p->mask_row, quiet, masks + i);
  }
}

/* Of one head, from `row` on. */
static inline void set_quad(const tw_masked_attention_params *params, const int8_t *a, const int8_t *b,
                            const quad_mask *mask, const uint32_t *turned, int8_t *y, int32_t head, int32_t row, quad *q) {
  const tw_masked_softmax_params *const p = &params->shares;
  q->a = a + 4 * (head * p->rows + row);
  q->b = b + 4 * head * p->columns;
  set_words_to_score(q, 0, mask->plain, mask->loud - mask->plain);
  q->mask = mask;
  q->v = turned + head * p->columns;
  q->y = y + head * params->y_head + row * params->y_row;
}

/* From products to results. */
static inline void attend(const tw_masked_attention_params *params, int way, const uint8_t *table, own_memory *own) {
  const tw_masked_softmax_params *const p = &params->shares;
  quad_group *const g = &own->group;
  score(p, table, g);
  const int quiet = mask_quads(p, g);
  if (quiet) {
    score(p, g->quiet.table, g);
    count_quiet(p, g);
  }
  total_rows(p->tables.exponentials, g);
  if (quiet) drop_quiet(p, g);
  factor_rows(p, way, g);
  share_rows(way, own->results, g);
  mix_quads(g, &own->mix);
}

/* Quads are taken in rounds, in which each core has one: in turn, and back again, so that all have as much of a triangle. */
void TW_NAME(const tw_masked_attention_params *params, const int8_t *a, const int8_t *b, const TW_M *m, const int8_t *v,
             int8_t *y, void *scratch) {
  const tw_masked_softmax_params *const p = &params->shares;
  const int32_t heads = p->heads, quads = (p->rows + 3) >> 2, core = tw_core();
  const uint32_t largest = p->tables.exponentials[255];
  const int way = share_way(largest, largest * (uint32_t)p->columns);
  uint32_t *const turned = scratch;
  quad_mask *const masks = (quad_mask *)(turned + heads * p->columns);
  uint32_t *const table = (uint32_t *)(masks + quads);
  const int32_t reach = reach_of(&p->scores), words = table_words(reach);
  const int32_t step = p->columns + 4, bytes = (int32_t)sizeof(own_memory) + 4 * TW_QUADS * step;
  own_memory *const own = (own_memory *)((uint8_t *)(table + 2 * words) + bytes * core);
  quad_group *const g = &own->group;
  g->x = (uint8_t *)(own + 1);
  g->step = step;
  widen_table(&p->scores, reach, table);
  g->quiet = set_alike(p->masks, m, p->columns, (uint8_t *)table, words, (uint8_t *)(table + words));
  g->quiet.table += reach;
  begin_mixing(params, step, &own->mix);
  for (int32_t i = 0; i < 256; i += 4) tw_x_store(own->results + i, tw_x_load(p->tables.results + i));
  set_quad_masks(p, m, quads, &g->quiet, masks);
  turn_values(params, v, turned); /* ends with a barrier */
  g->count = 0;
  for (int32_t round = 0, number = 0, head = core;; round++) {
    for (; head >= heads; number++) head -= heads;
    const int is_over = number >= quads;
    if (is_over ? g->count > 0 : g->count == TW_QUADS) attend(params, way, (uint8_t *)table + reach, own), g->count = 0;
    if (is_over) return;
    /* The last quad overlaps the one before if rows are left. */
    const int32_t row = tw_x_min(4 * number, p->rows - 4);
    quad *const q = &g->quads[g->count];
    set_quad(params, a, b, masks + (p->mask_row ? number : 0), turned, y, head, row, q);
    g->is_short = is_short(q->a) && (g->count == 0 || g->is_short);
    g->count++;
    head += round & 1 ? 2 * core + 1 : 2 * (TW_CORES - core) - 1;
  }
}
