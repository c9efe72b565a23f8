#ifndef TW_REQUANTSHIFT_FEW_H
#define TW_REQUANTSHIFT_FEW_H

/* Channels of so few elements are requantised the exact way: to choose a better one would take longer. */
#define TW_FEW 4

#endif
