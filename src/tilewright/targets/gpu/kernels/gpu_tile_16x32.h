/* Tiles of 16 x 32. */
#define TW_TM 16
#define TW_TN 32
#define TW_WM 1
#define TW_WN 4
#define TW_STAGES 6
#define TW_ROW_BYTES 128
