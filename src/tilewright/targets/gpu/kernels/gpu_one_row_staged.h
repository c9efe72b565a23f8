/* One row, and weights of a group that shared memory holds. */
#define TW_MOST_ROWS 1
#define TW_IS_STAGED
