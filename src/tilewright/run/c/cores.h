/* The number of cores as the linker knows it (cores.S), for kernels that are compiled once for any. */
extern const char tw_cores_by_linker[];
#define TW_CORES ((int32_t)(uintptr_t)tw_cores_by_linker)
