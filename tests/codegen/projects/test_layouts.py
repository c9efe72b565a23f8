"""Projects have the files and fields that their ecosystems ask for."""

from __future__ import annotations

import configparser
import io
import json
import re
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest

from tests.codegen.projects.made import called, content, text
from tests.own_kernels.folders import changed
from tilewright.codegen.projects import KINDS, files
from tilewright.codegen.projects.project import Project
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder
from tilewright.ir.types import TensorType
from tilewright.ops.relu import Relu
from tilewright.pipeline import Compiled, stages
from tilewright.target.settings import Settings

pytestmark = pytest.mark.fast


OWN_CORES = {"esp-idf": "esp-rv32imc", "pico-sdk": "hazard3"}
"""Of kinds that are for chips of one maker."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["cortex-m4", "generic"])
def test_the_network_is_there_once(kind: str, target: str) -> None:
    found = content(kind, target if target == "generic" else OWN_CORES.get(kind, target))
    assert len([name for name in found if name.endswith("network.c")]) == 1
    assert "README.md" in found


def test_zephyr() -> None:
    """As its documentation of modules and of samples has it."""
    found = content("zephyr")
    assert text(found, "zephyr/module.yml") == "name: tiny\nbuild:\n  cmake: .\n  kconfig: Kconfig\n"
    assert text(found, "Kconfig").startswith("config TILEWRIGHT_TINY\n\tbool ")
    lists = text(found, "CMakeLists.txt")
    assert lists.index("if(CONFIG_TILEWRIGHT_TINY)") < lists.index("zephyr_library_sources(")
    sources = re.findall(r"^    (src/\S+\.c)$", lists, re.MULTILINE)
    assert sources == [name for name in found if name.startswith("src/") and name.endswith(".c")]
    assert lists.index("foreach(symbol\n") < lists.index("tiny_run") < lists.index("message(FATAL_ERROR")
    sample = text(found, "samples/tiny/CMakeLists.txt")
    assert sample.index("ZEPHYR_EXTRA_MODULES") < sample.index("find_package(Zephyr") < sample.index("project(")
    assert "CONFIG_TILEWRIGHT_TINY=y" in text(found, "samples/tiny/prj.conf")
    units = {target: text(content("zephyr", target), "samples/tiny/prj.conf") for target in ("cortex-m0plus", "rv32")}
    assert "CONFIG_FPU=y" in text(found, "samples/tiny/prj.conf")
    assert not any("CONFIG_FPU" in settings for settings in units.values())
    assert "  sample.tilewright.tiny:\n" in text(found, "samples/tiny/sample.yaml")
    assert "samples/tiny/src/main.c" in found


def test_esp_idf() -> None:
    """As its documentation of components, of their manifests and of linker fragments has it."""
    found = content("esp-idf", "esp32-c6")
    lists = text(found, "components/tiny/CMakeLists.txt")
    assert lists.index("idf_component_register(") < lists.index("target_compile_options(${COMPONENT_LIB} PRIVATE -O2")
    sources = re.findall(r'^    "(network/\S+\.c)"$', lists, re.MULTILINE)
    assert [f"components/tiny/{name}" for name in sources] == [
        name for name in found if "/network/" in name and name[-2:] == ".c"
    ]
    assert "    config TILEWRIGHT_TINY_CODE_IN_RAM\n        bool " in text(found, "components/tiny/Kconfig")
    fragment = text(found, "components/tiny/linker.lf")
    assert fragment.startswith(
        "[mapping:tiny]\narchive: libtiny.a\nentries:\n    if TILEWRIGHT_TINY_CODE_IN_RAM = y:\n"
    )
    assert re.search(r'^version: "\d+\.\d+\.\d+"$', text(found, "components/tiny/idf_component.yml"), re.MULTILINE)
    assert "PRIV_REQUIRES tiny " in text(found, "main/CMakeLists.txt")
    chips = {name: text(content("esp-idf", name), "README.md") for name in ("esp32-p4", "generic")}
    assert "set-target esp32c6" in text(found, "README.md")
    assert "set-target esp32p4" in chips["esp32-p4"]
    assert "any chip will do, RISC-V or Xtensa" in chips["generic"]


@pytest.mark.parametrize(
    ("target", "board", "platform"),
    [
        ("rp2350-riscv", "pico2", "rp2350-riscv"),
        ("rp2350-arm", "pico2", "rp2350-arm-s"),
        ("rp2040", "pico", "rp2040"),
        ("generic", "pico2", "rp2350-arm-s"),
    ],
)
def test_pico_sdk(target: str, board: str, platform: str) -> None:
    lists = text(content("pico-sdk", target), "CMakeLists.txt")
    places = [
        f"set(PICO_BOARD {board} ", f"set(PICO_PLATFORM {platform} ", "pico_sdk_import.cmake)", "project(tiny",
        "pico_sdk_init()", "add_executable(tiny ", "pico_add_extra_outputs(tiny)",
    ]  # fmt: skip
    assert [lists.index(place) for place in places] == sorted(lists.index(place) for place in places)


@pytest.mark.parametrize(("kind", "maker"), [("esp-idf", "Espressif"), ("pico-sdk", "Raspberry Pi")])
def test_chips_of_others_are_refused(kind: str, maker: str) -> None:
    with pytest.raises(CompileError, match=f"target cortex-m4: is not for a chip of {maker}'s"):
        content(kind)


def test_arduino() -> None:
    """Of the specification of libraries: fields that must be there, a sketch in a folder of its name."""
    found = content("arduino")
    lines = text(found, "library.properties").splitlines()
    fields = dict(line.split("=", 1) for line in lines)
    needed = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    assert needed <= fields.keys()
    assert fields["includes"] == "tiny.h"
    assert re.fullmatch(r"\d+\.\d+\.\d+", fields["version"])
    assert {"src/tiny.h", "examples/tiny/tiny.ino"} <= found.keys()


@pytest.mark.parametrize("name", ["network", "network_data", "network_call", "math", "stdio", "Arduino"])
def test_arduino_with_a_name_of_a_header(name: str) -> None:
    """Libraries are where compilers look for headers, and disks may not tell capitals from small letters."""
    found, header = called("arduino", name), f"{name.lower()}_network.h"
    assert "_run(" in text(found, "src/network.h")
    assert [path for path in found if path.lower() == f"src/{name.lower()}.h"] == (
        [f"src/{name}.h"] if name.startswith("network") else []
    )
    assert f"includes={header}\n" in text(found, "library.properties")
    assert f"#include <{header}>" in text(found, f"examples/{name.lower()}/{name.lower()}.ino")


@pytest.mark.asks_c
def test_platformio() -> None:
    found = content("platformio")
    settings = configparser.ConfigParser()
    settings.read_string(text(found, "platformio.ini"))
    (environment,) = settings.sections()
    assert environment.startswith("env:")
    assert {"platform", "board", "framework"} <= set(settings[environment])
    library = json.loads(text(found, "lib/tiny/library.json"))
    assert {"name", "version"} <= library.keys()
    assert "lib/tiny/src/network.h" in found
    settings = configparser.ConfigParser()
    settings.read_string(text(content("platformio", "generic"), "platformio.ini"))
    assert settings["env:native"]["platform"] == "native"
    with pytest.raises(CompileError, match="no PlatformIO board is known"):
        content("platformio", "rv32")


def test_cmsis_pack() -> None:
    """Elements of PACK.xsd: those that a package must have, and files that are in the pack."""
    found = content("cmsis-pack")
    package = ET.fromstring(text(found, "Tilewright.tiny.pdsc"))
    assert package.tag == "package"
    children = [child.tag for child in package]
    assert [child for child in ("vendor", "name", "description", "url", "releases") if child not in children] == []
    assert package.findtext("releases/release") is not None
    component = package.find("components/component")
    assert component is not None
    assert {"Cclass", "Cgroup", "Cversion"} <= set(component.keys())
    assert component.get("condition") == "core"
    require = package.find("conditions/condition[@id='core']/require")
    assert require is not None
    assert require.get("Dcore") == "Cortex-M4"
    pack = found["Tilewright.tiny.1.0.0.pack"]
    assert isinstance(pack, bytes)
    names = zipfile.ZipFile(io.BytesIO(pack)).namelist()
    for file in component.iter("file"):
        name = file.get("name") or ""
        assert name in names or (file.get("category") == "include" and any(one.startswith(name) for one in names))
    assert content("cmsis-pack")["Tilewright.tiny.1.0.0.pack"] == pack


def test_mlperf_tiny() -> None:
    found = content("mlperf-tiny")
    model = text(found, "app/model.h")
    assert '#error "say which model it is' in model
    assert "#define APP_INPUT_SCALE 0.5f\n#define APP_INPUT_ZERO 1\n" in model
    source = text(found, "app/submitter_implemented.cpp")
    functions = "load_tensor results infer timestamp printf getchar serialport_initialize timestamp_initialize "
    functions += (
        "final_initialize pre post command_ready strncmp strncpy strnlen strcat strtok atoi memset memcpy vprintf"
    )
    for name in functions.split():
        assert re.search(rf"^\S+ \*?th_{name}\(", source, re.MULTILINE), name


def test_kernels_that_call_a_library(tmp_path: Path) -> None:
    """Folders of headers and flags have their place in all projects but an Arduino library."""
    library = tmp_path / "library"
    (library / "include").mkdir(parents=True)
    declared = f'flags=("-DMORE",), library=Library("{library}", includes=("include",))'
    folder = changed(
        tmp_path, "kernels.py", ("import Kernel,", "import Kernel, Library,"),
        ('header="unary.h")]', f'header="unary.h")], {declared}'),
    )  # fmt: skip
    builder = Builder("tiny")
    x = builder.input("x", TensorType("int8", (4,)))
    builder.output(builder.add(Relu(), [x])[0])
    compiled = Compiled(*stages(builder.build(), "cortex-m4", "tiny", Settings(kernels=(folder,))))
    project = Project(compiled.schedule, compiled.quantised, "tiny")
    with pytest.raises(
        CompileError,
        match="an Arduino library cannot have compiler options or include folders, which the kernels of own_relu",
    ):
        files("arduino", project)
    found = json.loads(text(files("platformio", project), "lib/tiny/library.json"))
    assert found["build"]["flags"] == ["-O2", "-I src/kernels/own_relu/include", "-DMORE"]
    lists = text(files("zephyr", project), "CMakeLists.txt")
    assert "  zephyr_include_directories(src/kernels/own_relu/include)\n" in lists
    assert "  zephyr_library_compile_options(-DMORE)\n" in lists
