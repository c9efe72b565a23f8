/* Where the devices of the microcontroller are. Assembly reads this too. */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H

#define TW_EXIT 0x1a1040a0
#define TW_STDOUT 0x1a10f000

#endif
