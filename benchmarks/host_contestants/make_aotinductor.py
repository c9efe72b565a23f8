"""A network as a package of AOTInductor: make_aotinductor.py DEFINITIONS NETWORK fp32 MODEL.onnx INPUTS.npz TO"""

from __future__ import annotations

import sys

import torch
from torch._inductor import aoti_compile_and_package


def main() -> None:
    definitions, name, _, _, _, to = sys.argv[1:]
    sys.path.append(definitions)
    import models_def

    module, example, *_ = models_def.build(name)
    with torch.no_grad():
        aoti_compile_and_package(torch.export.export(module, example), package_path=to)


if __name__ == "__main__":
    main()
