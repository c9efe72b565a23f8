/* Loops that compilers should leave as they are: their code would grow more than they would gain. */
#ifndef TW_ROLLED_H
#define TW_ROLLED_H

#if defined(__clang__)
#define TW_ROLLED _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__)
#define TW_ROLLED _Pragma("GCC unroll 1")
#else
#define TW_ROLLED
#endif

#endif
