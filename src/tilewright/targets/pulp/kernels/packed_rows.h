#ifndef TW_PACKED_ROWS_H
#define TW_PACKED_ROWS_H

/* Rows that a strip of four packed columns meets at a time: their sums are known. */
#define TW_ROWS 4

#endif
