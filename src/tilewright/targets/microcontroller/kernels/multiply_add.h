/* total += w * x, for each total and its x. Compilers do not keep 16 totals in registers when they choose the order of
 * multiplications and additions: here a row of them is one piece of assembly. */
#ifndef TW_MULTIPLY_ADD_H
#define TW_MULTIPLY_ADD_H

#ifdef __riscv_mul
#define TW_MAC_2(w, a, b, xa, xb)                                                               \
  do {                                                                                          \
    int32_t one_, other_;                                                                       \
    __asm__ volatile("mul %0, %4, %5\n\tmul %1, %4, %6\n\tadd %2, %2, %0\n\tadd %3, %3, %1"     \
                     : "=&r"(one_), "=&r"(other_), "+&r"(a), "+&r"(b)                           \
                     : "r"(w), "r"(xa), "r"(xb));                                               \
  } while (0)

#define TW_MAC_4(w, a, b, c, d, xa, xb, xc, xd)                                                 \
  do {                                                                                          \
    int32_t product_;                                                                           \
    __asm__ volatile(                                                                           \
        "mul %0, %5, %6\n\tadd %1, %1, %0\n\tmul %0, %5, %7\n\tadd %2, %2, %0\n\t"              \
        "mul %0, %5, %8\n\tadd %3, %3, %0\n\tmul %0, %5, %9\n\tadd %4, %4, %0"                  \
        : "=&r"(product_), "+&r"(a), "+&r"(b), "+&r"(c), "+&r"(d)                               \
        : "r"(w), "r"(xa), "r"(xb), "r"(xc), "r"(xd));                                          \
  } while (0)
#else
#define TW_MAC_2(w, a, b, xa, xb) ((a) += (w) * (xa), (b) += (w) * (xb))
#define TW_MAC_4(w, a, b, c, d, xa, xb, xc, xd) \
  ((a) += (w) * (xa), (b) += (w) * (xb), (c) += (w) * (xc), (d) += (w) * (xd))
#endif

#endif
