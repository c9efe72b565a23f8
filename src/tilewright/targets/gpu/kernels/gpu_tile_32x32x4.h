/* Tiles of 32 x 32, by 4 teams. */
#define TW_TM 32
#define TW_TN 32
#define TW_WM 1
#define TW_WN 1
#define TW_STAGES 5
#define TW_ROW_BYTES 128
#define TW_SLICES 4
