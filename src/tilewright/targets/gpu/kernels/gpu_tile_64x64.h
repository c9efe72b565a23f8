/* Tiles of 64 x 64. */
#define TW_TM 64
#define TW_TN 64
#define TW_WM 2
#define TW_WN 4
#define TW_STAGES 3
#define TW_ROW_BYTES 128
