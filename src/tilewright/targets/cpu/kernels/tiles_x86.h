/* Products of rows and blocks of weights by the tiles of x86-64 (AMX): 16 rows of 64 bytes times 16 columns of as many are
 * one instruction. Two rows of tiles and two columns are summed at a time. Elsewhere the instructions are plain C: that is
 * how they are tested there.
 *
 * A process asks the kernel for tiles once; where it refuses them, all is done without. A thread sets them up before it
 * uses them, and gives them back. */
#ifndef TW_TILES_X86_H
#define TW_TILES_X86_H

#define TW_TILE_ROWS 16
#define TW_TILE_BYTES 64
#define TW_TILED_ROWS (2 * TW_TILE_ROWS)

#if defined(__AMX_INT8__) && defined(__linux__)

#define TW_ASKS_KERNEL 158     /* the number of arch_prctl */
#define TW_ASK_FOR_STATE 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TW_TILE_STATE 18

typedef struct {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} tw_tile_shapes;

static inline int tw_has_tiles(void) {
  static int known; /* 0: not asked yet, 1: they are there, 2: they are not */
  if (!known) {
    long said;
    __asm__ volatile("syscall"
                     : "=a"(said)
                     : "a"((long)TW_ASKS_KERNEL), "D"((long)TW_ASK_FOR_STATE), "S"((long)TW_TILE_STATE)
                     : "rcx", "r11", "memory");
    known = said == 0 ? 1 : 2;
  }
  return known == 1;
}

static inline void tw_begin_tiles(void) {
  tw_tile_shapes shapes;
  memset(&shapes, 0, sizeof shapes);
  shapes.palette = 1;
  for (int i = 0; i < 8; i++) shapes.row_bytes[i] = TW_TILE_BYTES, shapes.rows[i] = TW_TILE_ROWS;
  _tile_loadconfig(&shapes);
}

static inline void tw_end_tiles(void) { _tile_release(); }

#define tw_tile_zero(to) _tile_zero(to)
#define tw_tile_load(to, from, pitch) _tile_loadd(to, from, (size_t)(pitch))
#define tw_tile_store(from, to, pitch) _tile_stored(from, to, (size_t)(pitch))
#define tw_tile_multiply(to, a, b) _tile_dpbssd(to, a, b)

#else

static __thread int8_t tw_tile[8][TW_TILE_ROWS][TW_TILE_BYTES];

static inline int tw_has_tiles(void) { return 1; }
static inline void tw_begin_tiles(void) { memset(tw_tile, 0, sizeof tw_tile); }
static inline void tw_end_tiles(void) { memset(tw_tile, 0x55, sizeof tw_tile); }
static inline void tw_tile_zero(int to) { memset(tw_tile[to], 0, sizeof tw_tile[to]); }

static inline void tw_tile_load(int to, const void *from, int64_t pitch) {
  for (int r = 0; r < TW_TILE_ROWS; r++) memcpy(tw_tile[to][r], (const int8_t *)from + r * pitch, TW_TILE_BYTES);
}

static inline void tw_tile_store(int from, void *to, int64_t pitch) {
  for (int r = 0; r < TW_TILE_ROWS; r++) memcpy((int8_t *)to + r * pitch, tw_tile[from][r], TW_TILE_BYTES);
}

static inline void tw_tile_multiply(int to, int a, int b) {
  for (int r = 0; r < TW_TILE_ROWS; r++) {
    int32_t total[TW_TILE_ROWS];
    memcpy(total, tw_tile[to][r], sizeof total);
    for (int k = 0; k < TW_TILE_BYTES; k++) {
      for (int c = 0; c < TW_TILE_ROWS; c++) total[c] += tw_tile[a][r][k] * tw_tile[b][k / 4][4 * c + k % 4];
    }
    memcpy(tw_tile[to][r], total, sizeof total);
  }
}

#endif

/* Sums of products of the first `count` bytes, whole tiles of them, of 32 rows, or of 16, with a block of weights. */
TW_ALWAYS void tw_sum_tiles(int is_two, const int8_t *x, int64_t pitch, const int8_t *w, int32_t count, tw_sums *t) {
  tw_tile_zero(0);
  tw_tile_zero(1);
  if (is_two) {
    tw_tile_zero(2);
    tw_tile_zero(3);
  }
  for (int32_t i = 0; i < count; i += TW_TILE_BYTES, x += TW_TILE_BYTES, w += TW_TILE_BYTES / 4 * TW_STEP) {
    tw_tile_load(4, x, pitch);
    tw_tile_load(6, w, TW_STEP);
    tw_tile_load(7, w + TW_TILE_BYTES, TW_STEP);
    tw_tile_multiply(0, 4, 6);
    tw_tile_multiply(1, 4, 7);
    if (is_two) {
      tw_tile_load(5, x + TW_TILE_ROWS * pitch, pitch);
      tw_tile_multiply(2, 5, 6);
      tw_tile_multiply(3, 5, 7);
    }
  }
  tw_tile_store(0, t[0].v, sizeof t[0]);
  tw_tile_store(1, t[0].v + TW_TILE_ROWS, sizeof t[0]);
  if (is_two) {
    tw_tile_store(2, t[TW_TILE_ROWS].v, sizeof t[0]);
    tw_tile_store(3, t[TW_TILE_ROWS].v + TW_TILE_ROWS, sizeof t[0]);
  }
}

#endif
