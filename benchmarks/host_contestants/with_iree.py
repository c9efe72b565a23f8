"""IREE's runtime, with what its compiler made."""

from __future__ import annotations

from pathlib import Path

import iree.runtime
import numpy as np
from runner import Compute


def load(path: Path, threads: int) -> Compute:
    driver = "local-sync" if threads == 1 else "local-task"
    iree.runtime.flags.parse_flags(f"--task_topology_max_group_count={threads}")
    config = iree.runtime.Config(driver)
    context = iree.runtime.SystemContext(config=config)
    context.add_vm_module(iree.runtime.VmModule.mmap(context.instance, str(path)))
    module = context.modules.module
    # The others are for callers that wait later, and for the module itself.
    function = next(module[name] for name in module.vm_module.function_names if "$" not in name and name[0] != "_")

    def compute(inputs: list[np.ndarray]) -> list[np.ndarray]:
        found = function(*inputs)
        return [np.asarray(value) for value in (found if isinstance(found, tuple | list) else [found])]

    return compute
