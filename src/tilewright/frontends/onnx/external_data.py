"""Files beside an ONNX model that hold some of its constants."""

from __future__ import annotations

from pathlib import Path

SUFFIX = ".onnx"


def external_files(path: Path) -> list[Path]:
    """Those that a model refers to and that are there; whether it may refer to them, whoever reads it says."""
    if path.suffix.lower() != SUFFIX:
        return []
    import onnx
    from google.protobuf.message import DecodeError
    from onnx.external_data_helper import ExternalDataInfo, _get_all_tensors, uses_external_data

    try:
        proto = onnx.load(str(path), load_external_data=False)
    except DecodeError:
        return []
    names = {ExternalDataInfo(tensor).location for tensor in _get_all_tensors(proto) if uses_external_data(tensor)}
    inside = [path.parent / name for name in sorted(names) if ".." not in Path(name).parts]
    return [found for found in inside if found.is_file() and found.resolve().is_relative_to(path.parent.resolve())]
