# The clang of zig for Linux on RISC-V: `pip install ziglang`, or a zig on the PATH; or -DZIG=/path/to/zig.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
find_program(ZIG zig)
if(NOT ZIG)
  find_program(PYTHON NAMES python3 python)
  execute_process(
    COMMAND ${PYTHON} -c "import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'), end='')"
    OUTPUT_VARIABLE ZIG_OF_PIP
  )
  set(ZIG ${ZIG_OF_PIP} CACHE FILEPATH "zig" FORCE)
endif()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG)
set(CMAKE_C_COMPILER ${ZIG} "cc -target riscv64-linux-musl -fno-sanitize=undefined")
set(CMAKE_ASM_COMPILER ${ZIG} "cc -target riscv64-linux-musl -fno-sanitize=undefined")
set(CMAKE_C_ARCHIVE_CREATE "\"${ZIG}\" ar qc <TARGET> <OBJECTS>")
set(CMAKE_C_ARCHIVE_FINISH "")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
set(ZIG_CPU @zig@) # that the project's CMakeLists.txt gives instead of -march
set(CMAKE_CROSSCOMPILING_EMULATOR @emulator@)
