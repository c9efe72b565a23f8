"""N-EUREKA, an accelerator (HWPE) of PULP clusters: convolutions, products with constant weights, and sums."""

from __future__ import annotations

from functools import partial

from tilewright.target.target import Engine
from tilewright.targets.hwpe.kernels import KERNELS
from tilewright.targets.hwpe.offers import offer
from tilewright.targets.hwpe.parts_kernels import KERNELS as PARTS_KERNELS
from tilewright.targets.hwpe.peak import PEAK
from tilewright.targets.hwpe.sum_kernels import KERNELS as SUM_KERNELS
from tilewright.targets.hwpe.windowed import windowed_forms


def neureka(cores: int) -> Engine:
    """Beside so many cores."""
    offers, forms = partial(offer, cores=cores), partial(windowed_forms, cores=cores)
    return Engine("neureka", (*KERNELS, *PARTS_KERNELS, *SUM_KERNELS), offers, forms, peak=PEAK)
