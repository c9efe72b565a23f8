#ifndef TW_DEPTHWISE_DOWN_ROWS_H
#define TW_DEPTHWISE_DOWN_ROWS_H

/* Rows of results from which on planes are walked down; below, what begins a column costs more than the walk saves. */
#define TW_LEAST_DOWN 5

#endif
