/* Products of a single row, as those of one token: less code, and fewer registers. */
#define TW_MOST_ROWS 1
