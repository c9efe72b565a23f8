/* Where devices are, and what is where in the banks of a tile. Assembly reads this too. */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H

#define TW_L1_END 0x100000 /* or before: nothing lies between */
#define TW_CONTROL 0x40000000
#define TW_EXIT TW_CONTROL         /* 2 * code + 1 ends the program */
#define TW_WAKE (TW_CONTROL + 0x4) /* a core's number, or TW_WAKE_ALL */
#define TW_WAKE_ALL -1
/* Each group of tiles has a cache for what is declared: where that begins and ends. */
#define TW_CACHE_ON (TW_CONTROL + 0x40)
#define TW_CACHE_BEGIN (TW_CONTROL + 0x48)
#define TW_CACHE_END (TW_CONTROL + 0x58)
#define TW_DMA 0x40010000
#define TW_STDOUT 0xc0000000

#define TW_TILE_CORES 4
#define TW_RADIX 16 /* tiles that meet at one counter */
/* Of the tiles of a group, which has that many places, so many have cores: all of them, or some beside an accelerator. */
#define TW_GROUP_TILES 16
#ifndef TW_TILES_WITH_CORES
#define TW_TILES_WITH_CORES TW_GROUP_TILES
#endif

/* Each tile has so many bytes of L1 for its own cores: what they count and note there, and behind that their stacks. */
#define TW_LOCAL_BYTES 4096
#define TW_LOCAL_NOTES 64
#define TW_LOCAL_STACK 1008 /* of a core; cores at equal depths use different banks */

#endif
