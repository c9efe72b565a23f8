"""A short run of the comparison with ONNX Runtime; `python -m benchmarks.differential` is the long one."""

from __future__ import annotations

from benchmarks.differential import Report, run


def test_random_graphs_agree_with_onnxruntime() -> None:
    report = Report()
    for seed in range(3):
        run(seed, 40, report)
    assert report.wrong == []
    assert sum(report.refused.values()) < 0.1 * sum(report.nodes.values())
