"""Asks OpenCL for a device; ends with 0 if there is one: `python opencl_devices.py KIND`.

A program of its own, because drivers bring compilers with them. A driver that finds another copy of its compiler in the
process, as TensorFlow's, may end the process.
"""

import ctypes
import sys

MOST = 16
"""Platforms that are looked at."""


def has_device(kind: int) -> bool:
    library = ctypes.CDLL("libOpenCL.so.1")
    platforms, count = (ctypes.c_void_p * MOST)(), ctypes.c_uint(0)
    if library.clGetPlatformIDs(MOST, platforms, ctypes.byref(count)) != 0:
        return False
    given = (ctypes.c_void_p(one) for one in platforms[: min(count.value, MOST)])
    return any(library.clGetDeviceIDs(one, ctypes.c_uint64(kind), 0, None, ctypes.byref(count)) == 0 for one in given)


if __name__ == "__main__":
    sys.exit(0 if has_device(int(sys.argv[1])) else 1)
