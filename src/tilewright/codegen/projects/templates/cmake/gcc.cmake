# GCC for @processor@, with newlib: on Debian gcc-@prefix@... and its newlib, or the vendor's own build on the PATH.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR @processor@)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER @prefix@gcc)
set(CMAKE_ASM_COMPILER @prefix@gcc)
set(CMAKE_C_FLAGS_INIT "@flags@")
set(CMAKE_ASM_FLAGS_INIT "@flags@")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostartfiles --specs=nosys.specs")
