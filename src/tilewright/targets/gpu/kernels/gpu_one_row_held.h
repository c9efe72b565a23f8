/* One row, and shared memory holds some of a group's weights at a time. */
#define TW_MOST_ROWS 1
#define TW_IS_HELD
