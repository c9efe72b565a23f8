# The clang of zig, for @processor@: `pip install ziglang`, or a zig on the PATH; or -DZIG=/path/to/zig.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR @processor@)
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
# CMake first compiles a program to see which compiler it is: for this machine, zig would build a C library for it.
# Older ones take a list of two alone: the compiler, and its arguments in one word.
set(CMAKE_C_COMPILER ${ZIG} "@compiler@")
set(CMAKE_ASM_COMPILER ${ZIG} "@compiler@")
set(CMAKE_C_ARCHIVE_CREATE "\"${ZIG}\" ar qc <TARGET> <OBJECTS>")
set(CMAKE_C_ARCHIVE_FINISH "")
set(CMAKE_C_FLAGS_INIT "@flags@")
set(CMAKE_ASM_FLAGS_INIT "@flags@")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
set(OWN_LIBC ON CACHE BOOL "zig brings no C library for bare metal")
