"""Energy as a human reads it."""

from __future__ import annotations

from tilewright.sim.energy import Energy

MORE = ">"
"""Before energies of which a part is not counted."""


def microjoules(energy: Energy) -> str:
    """With three digits, or all of those before the point; more than that where something is not counted."""
    value = energy.microjoules
    return MORE * bool(energy.uncounted) + (f"{value:.3g}" if value < 1000 else f"{value:,.0f}")


def energy_text(energy: Energy) -> str:
    spread = f" ± {energy.uncertainty:.0%}" if energy.spread else ""
    power = f", {energy.milliwatts:.3g} mW at {energy.hertz / 1e6:.0f} MHz" if energy.hertz else ""
    return f"{microjoules(energy)} uJ{spread}{power}{not_counted(energy)}"


def not_counted(energy: Energy) -> str:
    """What else was at work, if anything was."""
    return f" ({', '.join(energy.uncounted)} not counted)" if energy.uncounted else ""


def energy_parts(energy: Energy) -> str:
    """Shares of the components, the largest first."""
    total = max(energy.femtojoules, 1)
    largest = sorted(energy.spent.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {spent / total:.1%}" for name, spent in largest if spent)
