/* Elements of ITA's tiles, a byte each. */
#ifndef TW_ITA_TILE_H
#define TW_ITA_TILE_H

enum { TW_ITA_TILE = 64 * 64 };

#endif
