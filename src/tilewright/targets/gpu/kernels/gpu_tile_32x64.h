/* Tiles of 32 x 64. */
#define TW_TM 32
#define TW_TN 64
#define TW_WM 2
#define TW_WN 2
#define TW_STAGES 4
#define TW_ROW_BYTES 128
