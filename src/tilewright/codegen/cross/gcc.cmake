# GCC 14 or newer for Linux on RISC-V, on the PATH: Debian's gcc-14-riscv64-linux-gnu, or what a chip's vendor builds.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
find_program(CROSS_GCC NAMES riscv64-linux-gnu-gcc-15 riscv64-linux-gnu-gcc-14 riscv64-linux-gnu-gcc REQUIRED)
set(CMAKE_C_COMPILER ${CROSS_GCC})
set(CMAKE_ASM_COMPILER ${CROSS_GCC})
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
set(CMAKE_CROSSCOMPILING_EMULATOR @emulator@)
