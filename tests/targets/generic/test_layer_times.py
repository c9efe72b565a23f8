"""What layers take, where something else than the clock knows it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from tilewright.targets.generic.target import TARGET
from tilewright.toolchain.compiler import compile_objects, find_compiler, link_without_runtime

CALL = """
#include "layer_times.h"
int main(void) {
  tw_time_layer_of(0, 5e9);
  tw_time_layer_of(0, -1.0);
  tw_time_layer_of(1, -1.0);
  tw_times_of_call(tw_now());
  tw_times_write(stdout);
  return 0;
}
"""


def test_results_of_one_layer(tmp_path: Path) -> None:
    """With the first of several it is known what the layer took."""
    host = TARGET.folder / "host"
    (tmp_path / "call.c").write_text(CALL)
    sources = [tmp_path / "call.c", host / "layer_times.c"]
    objects = compile_objects(dict.fromkeys(sources, ("-O1", f"-I{host}")), tmp_path, find_compiler())
    link_without_runtime(objects, [], tmp_path / "call", find_compiler())
    taken = np.frombuffer(subprocess.run([str(tmp_path / "call")], capture_output=True, check=True).stdout)
    assert taken[0] == 5e9
    assert taken[1] < 5e9
