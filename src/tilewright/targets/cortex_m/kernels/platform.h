/* Where the devices of a Cortex-M are that programs of ours use. Assembly reads this too. */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H

/* Coprocessor access control: whether the floating-point unit is on. */
#define TW_CPACR 0xe000ed88
/* Debug exception and monitor control: whether the counter of cycles may be used; its control, and itself. */
#define TW_DEMCR 0xe000edfc
#define TW_DEMCR_TRACE 0x01000000
#define TW_DWT_CONTROL 0xe0001000
#define TW_DWT_CYCLES 0xe0001004
/* Operations of Arm's semihosting, by which a program speaks to whoever runs it: a debugger or an emulator. */
#define TW_SEMIHOSTING_WRITE 0x04
#define TW_SEMIHOSTING_EXIT 0x20
#define TW_SEMIHOSTING_ELAPSED 0x30
#define TW_APPLICATION_EXIT 0x20026

#endif
