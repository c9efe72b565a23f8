"""The C of projects compiles for the target, with stubs in the place of what an ecosystem brings."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.codegen.projects.made import called, content, program, put
from tilewright import targets
from tilewright.toolchain.compiler import BARE, find_cross_compiler, link_objects

STUBS = {
    "zephyr/kernel.h": """\
#include <stdint.h>
uint32_t k_cycle_get_32(void);
uint32_t k_cyc_to_us_floor32(uint32_t cycles);
""",
    "zephyr/sys/printk.h": "void printk(const char *format, ...);\n",
    "stdio.h": "int printf(const char *format, ...);\n",
    "esp_timer.h": "#include <stdint.h>\nint64_t esp_timer_get_time(void);\n",
    "pico/stdlib.h": """\
#include <stdint.h>
void stdio_init_all(void);
void sleep_ms(uint32_t milliseconds);
uint64_t time_us_64(void);
""",
    "Arduino.h": """\
extern "C" { unsigned long micros(void); unsigned long millis(void); }
struct Port {
  void begin(long); void print(const char *); void print(char); void print(long); void println(void);
  void println(const char *); void println(unsigned long); explicit operator bool() const;
};
extern Port Serial;
""",
}  # fmt: skip


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    return put(dict(STUBS), tmp_path / "stubs")


def compiled(place: Path, source: str, *flags: str, target: str = "cortex-m4") -> None:
    """Without linking."""
    wanted = [*targets.find(target).flags, "-Wall", "-Wextra", "-Werror", *flags, "-c", source]
    find_cross_compiler().run([*wanted, "-o", "one.o"], place)


def test_zephyr(tmp_path: Path, stubs: Path) -> None:
    place = put(content("zephyr"), tmp_path)
    compiled(place, "samples/tiny/src/main.c", "-I", str(stubs), "-I", "src")


def test_arduino(tmp_path: Path, stubs: Path) -> None:
    place = put(content("arduino"), tmp_path)
    compiled(place, "examples/tiny/tiny.ino", "-x", "c++", "-include", "Arduino.h", "-I", str(stubs), "-I", "src")


def test_two_libraries_in_one_sketch(tmp_path: Path, stubs: Path) -> None:
    places = [put(called("arduino", name), tmp_path / name) for name in ("first", "second")]
    sketch = "#include <first.h>\n#include <second.h>\nint both(void) { return first_app_run() + second_app_run(); }\n"
    (tmp_path / "both.ino").write_text(sketch)
    folders = [word for place in places for word in ("-I", str(place / "src"))]
    compiled(tmp_path, "both.ino", "-x", "c++", "-Wno-unused-variable", "-Wno-unused-function", *folders)


def test_platformio(tmp_path: Path, stubs: Path) -> None:
    place = put(content("platformio"), tmp_path)
    compiled(place, "src/main.cpp", "-DARDUINO=1", "-I", str(stubs), "-I", "include", "-I", "lib/tiny/src")


@pytest.mark.parametrize("target", ["esp32-c3", "esp32-p4"])
def test_esp_idf(tmp_path: Path, stubs: Path, target: str) -> None:
    place = put(content("esp-idf", target), tmp_path)
    compiled(place, "main/main.c", "-I", str(stubs), "-I", "components/tiny/network", target=target)


@pytest.mark.parametrize("target", ["rp2350-riscv", "rp2350-arm"])
def test_pico_sdk(tmp_path: Path, stubs: Path, target: str) -> None:
    place = put(content("pico-sdk", target), tmp_path)
    compiled(place, "app/main.c", "-I", str(stubs), "-I", "network", target=target)


def test_cmsis_pack(tmp_path: Path, stubs: Path) -> None:
    place = put(content("cmsis-pack"), tmp_path)
    compiled(place, "app/main.c", "-I", str(stubs), "-I", "network")


SUBMITTER = """\
#include <stdarg.h>
#include <stddef.h>
#define EE_MSG_TIMESTAMP "m-lap-us-%lu\\r\\n"
#define EE_MSG_TIMESTAMP_MODE "m-timestamp-mode-performance\\r\\n"
#define EE_MODEL_VERSION_TEST "test01"
void th_load_tensor(); void th_results(); void th_infer(); void th_timestamp(void); char th_getchar();
void th_printf(const char *format, ...); int th_vprintf(const char *format, va_list ap);
void th_timestamp_initialize(void); void th_final_initialize(void); void th_serialport_initialize(void);
"""
INTERNAL = """\
#include <stddef.h>
#include <stdint.h>
size_t ee_get_buffer(uint8_t *buffer, size_t most);
void ee_serial_command_parser_callback(char *command);
"""
RUNNER = """\
#include <stdio.h>
#include <string.h>
#include "../app/board.h"
#include "submitter_implemented.h"
#include "internally_implemented.h"
size_t ee_get_buffer(uint8_t *buffer, size_t most) { memset(buffer, 0, most); return most; }
void ee_serial_command_parser_callback(char *) {}
extern "C" void board_write(char c) { putchar(c); }
int main(void) {
  th_serialport_initialize(); th_timestamp_initialize(); th_final_initialize();
  th_load_tensor(); th_timestamp(); th_infer(); th_results();
}
"""


@pytest.mark.in_turns(6)
def test_mlperf_tiny(tmp_path: Path) -> None:
    """With a runner of our own in the place of the benchmark's: messages, and results as numbers."""
    api = {"api/submitter_implemented.h": SUBMITTER, "api/internally_implemented.h": INTERNAL, "api/run.cpp": RUNNER}
    place = put({**content("mlperf-tiny", "generic"), **api}, tmp_path)
    c = [str(path.relative_to(place)) for path in [*place.glob("network/**/*.c"), place / "app/board.c"]]
    cpp = ["app/submitter_implemented.cpp", "api/run.cpp"]
    zig, flags = find_cross_compiler(), ["-O1", "-fno-sanitize=all", "-DTH_MODEL_VERSION=EE_MODEL_VERSION_TEST"]
    flags += ["-I.", "-Iapp", "-Inetwork", "-c"]
    zig.run([*flags, *c], place)
    zig.run([*flags, "-x", "c++", "-fno-exceptions", *cpp], place)
    link_objects(list(place.glob("*.o")), ["m"], place / "runner", zig, ["-O1", BARE])
    said = subprocess.run([place / "runner"], capture_output=True, text=True, check=True).stdout
    expected = program("generic").run([[[[[0, 0]] * 4] * 4]])[0].reshape(-1)
    numbers = ",".join(f"{(int(value) + 2) * 0.25:.3f}" for value in expected)
    start = "m-timestamp-mode-performance\n" + "m-lap-us-0\n" * 2
    assert said.replace("\r", "") == f"{start}m-results-[{numbers}]\n"
