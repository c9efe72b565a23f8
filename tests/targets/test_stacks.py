"""Kernels take no more of the stack than is planned for them. What was measured is noted, by the texts that it was
compiled from: kernels are measured again that have changed since. `TILEWRIGHT_UPDATE_GOLDEN=1 pytest` notes them.
Another compiler is noticed where a program is built and
run: tests/run/test_stack_use.py."""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tilewright import targets
from tilewright.calibration.stacks import kernel_stacks, samples
from tilewright.codegen.kernels import headers
from tilewright.target.kernel import Kernel
from tilewright.target.target import Target

CLUSTERS = ("siracusa", "quad", "snitch", "itapool")
"""Of targets that share a table, the one with all its kernels."""
NOTED = Path(__file__).with_name("measured_stacks.json")
MANY = 12
"""More kernels than this are for the script, which measures all of them."""


def by_stem(target: Target) -> Mapping[str, list[Kernel]]:
    found = defaultdict[str, list[Kernel]](list)
    for engine in target.engines:
        for kernel in engine.kernels:
            found[kernel.stem].append(kernel)
    return found


def digest(target: Target, kernels: Sequence[Kernel]) -> str:
    """Of all that is compiled to measure them, and how."""
    instances = [instance for kernel in kernels for instance in samples(kernel, target.kernel_text)]
    included = headers(instances, target.kernel_text)
    texts = [*target.flags, *(one.text(target.kernel_text) for one in instances), *map(str, sorted(included.items()))]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


@pytest.mark.parametrize("name", CLUSTERS)
def test_no_kernel_takes_more_than_is_planned(name: str) -> None:
    target, noted, updates = targets.find(name), json.loads(NOTED.read_text()), "TILEWRIGHT_UPDATE_GOLDEN" in os.environ
    stems = by_stem(target)
    digests = {stem: digest(target, kernels) for stem, kernels in stems.items()}
    changed = [stem for stem, text in digests.items() if noted.get(name, {}).get(stem) != text]
    assert updates or len(changed) <= MANY, f"{len(changed)} have changed: `python scripts/measure_stacks.py {name}`"
    measured = kernel_stacks(target, [kernel for stem in changed for kernel in stems[stem]])
    assert {stem: size for stem, size in measured.items() if size > target.stacks[stem]} == {}
    if updates:
        NOTED.write_text(json.dumps({**noted, name: dict(sorted(digests.items()))}, indent=1, sort_keys=True) + "\n")


@pytest.mark.fast
@pytest.mark.parametrize("name", CLUSTERS)
def test_every_kernel_is_in_the_table(name: str) -> None:
    target = targets.find(name)
    assert by_stem(target).keys() == target.stacks.keys()
