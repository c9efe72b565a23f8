"""N-EUREKA, the NPU of Siracusa: an engine for convolutions, products with constant weights, and sums."""

from __future__ import annotations

from tilewright.target.target import Engine
from tilewright.targets.siracusa.neureka.kernels import KERNELS
from tilewright.targets.siracusa.neureka.offers import offer
from tilewright.targets.siracusa.neureka.sum_kernels import KERNELS as SUM_KERNELS
from tilewright.targets.siracusa.neureka.windowed import windowed_forms

ENGINE = Engine("neureka", (*KERNELS, *SUM_KERNELS), offer, windowed_forms)
