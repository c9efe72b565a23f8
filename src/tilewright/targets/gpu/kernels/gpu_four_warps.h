/* Tiles whose rows four warps multiply together, 64 at a time, out of shared memory: by instructions (wgmma) that compute
 * capability 9.0 alone has. The runtime leaves out lines that name them elsewhere, and every warp multiplies by itself. */
#ifndef TW_GPU_FOUR_WARPS_H
#define TW_GPU_FOUR_WARPS_H

#define TW_IS_STARTED

/* Constant for a GPU. */
TW_GPU int32_t tw_are_four_warps(void) {
  int32_t are;
  __asm__("mov.u32 %0, 0;\n\t{.reg .b32 wgmma; mov.u32 wgmma, 1; mov.u32 %0, wgmma;}" : "=r"(are));
  return are;
}

/* Copies that have arrived are what these instructions read. */
#define tw_copies_are_factors() __asm__ volatile("{.reg .b32 wgmma; fence.proxy.async.shared::cta;}" ::: "memory")

/* Rows of 128 bytes, from a multiple of 1024 bytes on: tw_place says where their pieces are. */
TW_GPU uint64_t tw_described(const TW_LOCAL uint8_t *rows) {
  const uint64_t swizzled = 1ull << 62, eight_rows = 64ull << 32, unused = 1ull << 16;
  return swizzled | eight_rows | unused | (tw_local_address(rows) & 0x3ffff) >> 4;
}

#define TW_4(T, I) "+f"(T[I]), "+f"(T[I + 1]), "+f"(T[I + 2]), "+f"(T[I + 3])
#define TW_16(T, I) TW_4(T, I), TW_4(T, I + 4), TW_4(T, I + 8), TW_4(T, I + 12)
#define TW_NAMES_32                                                                                              \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, "    \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31"
#if TW_TN == 64
#define TW_SHAPE "m64n64k16"
#define TW_NAMES TW_NAMES_32
#define TW_ALL_SUMS(T) TW_16(T, 0), TW_16(T, 16)
#define TW_STEPS                                                                                                  \
  TW_MULTIPLY("%32", "%36") TW_MULTIPLY("%33", "%37") TW_MULTIPLY("%34", "%38") TW_MULTIPLY("%35", "%39")
#elif TW_TN == 128
#define TW_SHAPE "m64n128k16"
#define TW_NAMES                                                                                                 \
  TW_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "     \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TW_ALL_SUMS(T) TW_16(T, 0), TW_16(T, 16), TW_16(T, 32), TW_16(T, 48)
#define TW_STEPS                                                                                                  \
  TW_MULTIPLY("%64", "%68") TW_MULTIPLY("%65", "%69") TW_MULTIPLY("%66", "%70") TW_MULTIPLY("%67", "%71")
#endif
#define TW_MULTIPLY(A, B)                                                                                        \
  "wgmma.mma_async.sync.aligned." TW_SHAPE ".f32." TW_HALF "." TW_HALF " {" TW_NAMES "}, " A ", " B              \
  ", 1, 1, 1, 0, 0;\n\t"

/* Sums are not there before tw_finish_multiplying. Of every step of 32 bytes the description is that of the first, two
 * pieces further on. */
TW_GPU void tw_start_multiplying(float *total, const TW_LOCAL uint8_t *x, const TW_LOCAL uint8_t *w, int32_t t) {
  if (!tw_are_four_warps()) {
    tw_multiply(total, NULL, 0, x, w, t);
    return;
  }
  const uint64_t a = tw_described(x + t / 128 * 64 * TW_ROW_BYTES), b = tw_described(w);
  __asm__ volatile("wgmma.fence.sync.aligned;\n\t" TW_STEPS "wgmma.commit_group.sync.aligned;"
                   : TW_ALL_SUMS(total)
                   : "l"(a), "l"(a + 2), "l"(a + 4), "l"(a + 6), "l"(b), "l"(b + 2), "l"(b + 4), "l"(b + 6)
                   : "memory");
}

TW_GPU void tw_finish_multiplying(float *total) {
  __asm__ volatile("wgmma.wait_group.sync.aligned 0;" : TW_ALL_SUMS(total)::"memory");
}

#endif
