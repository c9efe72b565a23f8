/* Four neighbouring channels of an image, taken apart: rows of pixels become rows of four planes of bytes. */
#ifndef TW_PLANES_H
#define TW_PLANES_H

#include "pack8.h"
#include "xpulp.h"

typedef struct {
  int32_t step;   /* bytes from pixel to pixel of the image */
  int32_t width;  /* pixels of a row */
  int32_t across; /* bytes from row to row of the image */
  int32_t pitch;  /* from row to row of a plane */
  int32_t plane;  /* from plane to plane */
} tw_planes;

#if TW_XPULP

#define TW_A_SHUFFLE2(d, high, select) TW_A_R(TW_E_SHUFFLE2_4, d, high, select)
#define TW_A_MV(d, a) "addi " d ", " a ", 0\n"

/* Four pixels at a time, `blocks` times in each row. */
static inline void tw_planes_blocks(const tw_planes *p, const uint8_t *x, uint8_t *to, int32_t blocks, int32_t rows) {
  uint32_t a, b, c, d, e, f;
  __asm__ volatile(
      TW_A_BEGIN TW_A_OUTER_LOOP("%[rows]", 23) TW_A_LOOP("%[blocks]", 20)                                  /* */
      TW_A_LW_STEP("%2", "%0", "%[step]") TW_A_LW_STEP("%3", "%0", "%[step]")                               /* */
      TW_A_LW_STEP("%4", "%0", "%[step]") TW_A_LW_STEP("%5", "%0", "%[step]")                               /* */
      TW_A_MV("%6", "%2") TW_A_MV("%7", "%4")                                                               /* */
      TW_A_SHUFFLE2("%6", "%3", "%[low]") TW_A_SHUFFLE2("%7", "%5", "%[low]")                               /* */
      TW_A_SHUFFLE2("%2", "%3", "%[high]") TW_A_SHUFFLE2("%4", "%5", "%[high]")                             /* */
      TW_A_MV("%3", "%6") TW_A_MV("%5", "%2")                                                               /* */
      TW_A_SHUFFLE2("%3", "%7", "%[front]") TW_A_SHUFFLE2("%6", "%7", "%[rear]")                            /* */
      TW_A_SHUFFLE2("%5", "%4", "%[front]") TW_A_SHUFFLE2("%2", "%4", "%[rear]")                            /* */
      TW_A_SW_STEP("%3", "%1", "%[plane]") TW_A_SW_STEP("%6", "%1", "%[plane]")                             /* */
      TW_A_SW_STEP("%5", "%1", "%[plane]") TW_A_SW_STEP("%2", "%1", "%[back]")                              /* */
      "add %0, %0, %[x_down]\nadd %1, %1, %[down]\n" TW_A_END
      : "+r"(x), "+r"(to), "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d), "=&r"(e), "=&r"(f)
      : [rows] "r"(rows), [blocks] "r"(blocks), [step] "r"(p->step), [plane] "r"(p->plane),
        [back] "r"(4 - 3 * p->plane), [low] "r"(TW_ZIP_LOW), [high] "r"(TW_ZIP_HIGH), [front] "r"(TW_ZIP_FRONT),
        [rear] "r"(TW_ZIP_REAR), [x_down] "r"(p->across - 4 * blocks * p->step), [down] "r"(p->pitch - 4 * blocks)
      : "memory");
}

/* One pixel of each row. */
static inline void tw_planes_column(const tw_planes *p, const uint8_t *x, uint8_t *to, int32_t rows) {
  uint32_t word;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[rows]", 8) TW_A_LW_STEP("%2", "%0", "%[across]")
                       TW_A_SB_STEP("%2", "%1", "%[plane]") "srli %2, %2, 8\n" TW_A_SB_STEP("%2", "%1", "%[plane]")
                       "srli %2, %2, 8\n" TW_A_SB_STEP("%2", "%1", "%[plane]") "srli %2, %2, 8\n"
                       TW_A_SB_STEP("%2", "%1", "%[back]") TW_A_END
                   : "+r"(x), "+r"(to), "=&r"(word)
                   : [rows] "r"(rows), [across] "r"(p->across), [plane] "r"(p->plane), [back] "r"(p->pitch - 3 * p->plane)
                   : "memory");
}

#else

static inline void tw_planes_blocks(const tw_planes *p, const uint8_t *x, uint8_t *to, int32_t blocks, int32_t rows) {
  for (; rows > 0; rows--, x += p->across, to += p->pitch) {
    for (int32_t i = 0; i < blocks; i++) {
      const uint8_t *const at = x + 4 * i * p->step;
      const uint32_t in[4] = {tw_x_load(at), tw_x_load(at + p->step), tw_x_load(at + 2 * p->step),
                              tw_x_load(at + 3 * p->step)};
      uint32_t out[4];
      tw_transpose_4x4(in, out);
      for (int f = 0; f < 4; f++) tw_x_store(to + f * p->plane + 4 * i, out[f]);
    }
  }
}

static inline void tw_planes_column(const tw_planes *p, const uint8_t *x, uint8_t *to, int32_t rows) {
  for (; rows > 0; rows--, x += p->across, to += p->pitch) {
    for (int f = 0; f < 4; f++) to[f * p->plane] = x[f];
  }
}

#endif

/* Rows from `x` on; the first of them to `to` in the first plane. */
static __attribute__((noinline)) void tw_planes_load(const tw_planes *p, const uint8_t *x, uint8_t *to, int32_t rows) {
  const int32_t blocks = p->width >> 2;
  if (rows <= 0) return;
  if (blocks > 0) tw_planes_blocks(p, x, to, blocks, rows);
  for (int32_t i = 4 * blocks; i < p->width; i++) tw_planes_column(p, x + i * p->step, to + i, rows);
}

#endif
