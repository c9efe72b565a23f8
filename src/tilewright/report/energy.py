"""Energy as a human reads it."""

from __future__ import annotations

from tilewright.sim.energy import Energy


def energy_text(energy: Energy) -> str:
    return (
        f"{energy.microjoules:.3g} uJ ± {energy.uncertainty:.0%}, {energy.milliwatts:.3g} mW at "
        f"{energy.hertz / 1e6:.0f} MHz"
    )


def energy_parts(energy: Energy) -> str:
    """Shares of the components, the largest first."""
    total = max(energy.femtojoules, 1)
    largest = sorted(energy.spent.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {spent / total:.1%}" for name, spent in largest if spent)
