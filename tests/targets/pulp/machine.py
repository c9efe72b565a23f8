"""The target of these tests."""

from __future__ import annotations

from tilewright import targets

SIRACUSA = targets.find("siracusa")
CLUSTER, NEUREKA = SIRACUSA.engines
KERNELS = CLUSTER.kernels
"""Of the cluster."""
