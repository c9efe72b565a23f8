"""What a source is made of: every file that its object may depend on, and nothing about where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.toolchain.includes import Unknown, contents

pytestmark = pytest.mark.fast


def files(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def made_of(folder: Path, *words: str) -> dict[str, str]:
    return {part.name: part.data.decode() for part in contents(folder / "x.c", words, folder)}


def test_headers_of_headers(tmp_path: Path) -> None:
    texts = {
        "x.c": '#include "a.h"\n',
        "a.h": '# include "deep/b.h"\n',
        "deep/b.h": '#include "c.h"\n',
        "deep/c.h": "c",
    }
    found = made_of(files(tmp_path, texts))
    assert list(found) == ["", "a.h", "deep/b.h", "c.h"]
    assert found["c.h"] == "c"


def test_a_header_that_includes_itself(tmp_path: Path) -> None:
    texts = {"x.c": '#include "a/a.h"\n', "a/a.h": '#include "../a/a.h"\n'}
    assert list(made_of(files(tmp_path, texts))) == ["", "a/a.h", "../a/a.h"]


@pytest.mark.parametrize("words", [("-Iown",), ("-I", "own"), ("-isystem", "own"), ("-O2", "-idirafter", "own")])
def test_folders_that_the_command_line_names(words: tuple[str, ...], tmp_path: Path) -> None:
    texts = {"x.c": "#include <a.h>\n", "own/a.h": "found", "a.h": "not among the folders for angles"}
    assert made_of(files(tmp_path, texts), *words)["a.h"] == "found"


@pytest.mark.parametrize("variable", ["CPATH", "C_INCLUDE_PATH"])
def test_folders_that_the_environment_names(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(tmp_path, {"x.c": "#include <a.h>\n", "own/a.h": "found"})
    monkeypatch.setenv(variable, str(tmp_path / "own"))
    assert made_of(folder)["a.h"] == "found"


def test_the_first_folder_wins(tmp_path: Path) -> None:
    texts = {"x.c": '#include "a.h"\n', "one/a.h": "one", "two/a.h": "two", "quotes/b.h": "b"}
    folder = files(tmp_path, texts)
    assert made_of(folder, "-Itwo", "-Ione")["a.h"] == "two"
    assert made_of(folder, "-iquote", "one", "-Itwo")["a.h"] == "one"
    files(tmp_path, {"a.h": "beside"})
    assert made_of(folder, "-Itwo", "-Ione")["a.h"] == "beside"


def test_what_the_command_line_includes(tmp_path: Path) -> None:
    folder = files(tmp_path, {"x.c": "", "forced.h": '#include "a.h"\n', "a.h": "found"})
    assert made_of(folder, "-include", "forced.h")["a.h"] == "found"


def test_conditions_do_not_matter(tmp_path: Path) -> None:
    folder = files(tmp_path, {"x.c": '#if 0\n#include "a.h"\n#endif\n', "a.h": "found"})
    assert made_of(folder)["a.h"] == "found"


@pytest.mark.parametrize(
    "text",
    [
        '.incbin "data", 0, 4\n',
        '.include "data"\n',
        'int f(void) { __asm__(".incbin \\"data\\""); return 0; }\n',
        '#embed "data"\n',
        '#include \\\n"data"\n',
        '#if defined(__has_include) && __has_include("data")\n#endif\n',
    ],
)
def test_other_ways_to_name_a_file(text: str, tmp_path: Path) -> None:
    assert made_of(files(tmp_path, {"x.c": text, "data": "found"}))["data"] == "found"


def test_what_is_not_there_is_of_the_compiler(tmp_path: Path) -> None:
    assert made_of(files(tmp_path, {"x.c": "#include <stdint.h>\n"}))["stdint.h"] == "absent"


@pytest.mark.parametrize(
    "text",
    [
        "#include NAME\n",
        "#include /**/ <stdint.h>\n",
        "const char *name = __FILE__;\n",
        "const char *when = __DATE__;\n",
        ".incbin NAME\n",
        "#if __has_include(NAME)\n#endif\n",
    ],
)
def test_what_cannot_be_told(text: str, tmp_path: Path) -> None:
    with pytest.raises(Unknown):
        made_of(files(tmp_path, {"x.c": text}))


def test_options_in_a_file(tmp_path: Path) -> None:
    with pytest.raises(Unknown):
        made_of(files(tmp_path, {"x.c": ""}), "@options")


def test_large_texts_are_read_too(tmp_path: Path) -> None:
    numbers = "0, " * 100_000
    folder = files(
        tmp_path, {"x.c": f'#include "a.h"\nint x[] = {{{numbers}}};\n#include "b.h"\n', "a.h": "a", "b.h": "b"}
    )
    assert list(made_of(folder)) == ["", "b.h", "a.h"]
