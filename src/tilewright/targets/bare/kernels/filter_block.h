/* Filters, or columns of a matrix, in a block: their weights lie side by side, tap by tap. */
#ifndef TW_FILTER_BLOCK_H
#define TW_FILTER_BLOCK_H

#define TW_BLOCK 4

#endif
