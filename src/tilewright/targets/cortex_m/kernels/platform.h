/* Where the devices of a Cortex-M are that programs of ours use. Assembly reads this too. */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H

/* Coprocessor access control: whether the floating-point unit is on. */
#define TW_CPACR 0xe000ed88
/* Operations of Arm's semihosting, by which a program speaks to whoever runs it: a debugger or an emulator. */
#define TW_SEMIHOSTING_WRITE 0x04
#define TW_SEMIHOSTING_EXIT 0x20
#define TW_APPLICATION_EXIT 0x20026

#endif
