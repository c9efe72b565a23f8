"""Energy as a human reads it."""

from __future__ import annotations

from tilewright.sim.energy import Energy


def microjoules(energy: Energy) -> str:
    """With three digits, or all of those before the point."""
    value = energy.microjoules
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def energy_text(energy: Energy) -> str:
    return (
        f"{microjoules(energy)} uJ ± {energy.uncertainty:.0%}, {energy.milliwatts:.3g} mW at "
        f"{energy.hertz / 1e6:.0f} MHz"
    )


def energy_parts(energy: Energy) -> str:
    """Shares of the components, the largest first."""
    total = max(energy.femtojoules, 1)
    largest = sorted(energy.spent.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {spent / total:.1%}" for name, spent in largest if spent)
