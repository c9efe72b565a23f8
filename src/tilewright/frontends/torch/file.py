"""What a file of PyTorch holds, by names in its archive: no pickle is loaded, and PyTorch need not be there."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tilewright.errors import CompileError, unreadable

PROGRAM = ("/archive_format", "/models/model.json", "serialized_exported_program.json")
"""How names in archives of torch.export end, of newer and older versions."""

SCRIPT = "/constants.pkl"
"""In archives of TorchScript."""

SAVE = "torch.export.save(torch.export.export(module, inputs), 'model.pt2')"


def refuse_without_graph(path: Path) -> None:
    """Files of torch.export pass whatever they are called; so does any .pt2, which PyTorch itself looks at."""
    names = _names(path)
    if path.suffix.lower() == ".pt2" or any(name.endswith(PROGRAM) for name in names):
        return
    if any(name.endswith(SCRIPT) for name in names):
        what, hint = "holds a TorchScript module, not a graph", f"export the module that it was made from: {SAVE}"
    else:
        what = "holds weights or a pickled module, not a graph"
        hint = f"load it in Python and compile the module, or export that: {SAVE}"
    raise CompileError(str(path), what, hint)


def _names(path: Path) -> list[str]:
    """Of an archive; none where the file is something else."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except OSError as error:
        raise unreadable(path, error) from None
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return []
