/* Tiles of 128 x 64, of which four warps have 64 rows. */
#define TW_TM 128
#define TW_TN 64
#define TW_WM 8
#define TW_WN 1
#define TW_STAGES 5
#define TW_ROW_BYTES 128
