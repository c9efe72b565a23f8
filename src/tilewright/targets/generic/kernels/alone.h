/* The types of a kernel that is compiled alone, to check it. In a network they are defined before the kernel. */
#ifndef TW_ALONE_H
#define TW_ALONE_H

#ifndef TW_NAME
#define TW_NAME tw_alone
#ifdef TW_INTEGERS_ONLY
#define TW_X uint32_t
#define TW_A uint32_t
#define TW_B uint32_t
#define TW_Y uint32_t
#else
#define TW_X float
#define TW_A float
#define TW_B float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#define TW_A_IS_FLOAT 1
#define TW_B_IS_FLOAT 1
#define TW_Y_IS_FLOAT 1
#endif
#endif

#endif
