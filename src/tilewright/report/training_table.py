"""A loop of training, as tables: the loss of each step, and every weight."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tilewright.report.console import fitting_table, name_text, print_titled
from tilewright.report.numbers import size
from tilewright.training.checking import Checked
from tilewright.training.fitting import Fitted
from tilewright.training.plan import MemoryPlan

MOST_STEPS = 40
"""Steps that are shown one by one; of more, as many spread over all."""


def print_training(target: Console, checked: Checked, title: str, against: str) -> None:
    target.print()
    _print_steps(target, checked, title)
    target.print()
    _print_weights(target, checked, against)
    print_verdict(target, checked, against)


def _print_steps(target: Console, checked: Checked, title: str) -> None:
    trained = checked.trained
    headings = ["step", "loss", *(["expected", "|error|"] if checked.steps else [])]
    headings += ["cycles"] if trained.step_cycles else []
    headings += [""] if checked.steps else []
    rows = []
    for number in shown(len(trained.losses)):
        row: list[str | Text] = [str(number), f"{trained.losses[number]:.6g}"]
        if checked.steps:
            step = checked.steps[number]
            row += [f"{step.wanted:.6g}", f"{step.agreement.max_abs_error:.3g}"]
        row += [f"{trained.step_cycles[number]:,}"] if trained.step_cycles else []
        row += [mark(checked.steps[number].agreement.agrees)] if checked.steps else []
        rows.append(row)
    print_titled(target, title, fitting_table(target.width, tuple(headings), rows, "step", ("|error|", "expected")))


def _print_weights(target: Console, checked: Checked, against: str) -> None:
    headings = ("weight", "elements", "moved by", "max |error|", "allowed", "")
    rows: list[Sequence[str | Text]] = [
        [
            name_text(one.name), f"{one.elements:,}", f"{checked.moved[one.name]:.3g}", f"{one.max_abs_error:.3g}",
            f"{one.allowed:.3g}", mark(one.agrees),
        ]
        for one in checked.weights
    ]  # fmt: skip
    table = fitting_table(target.width, headings, rows, "weight", ("allowed", "elements"))
    print_titled(target, f"weights against {against}", table)


def print_verdict(target: Console, checked: Checked, against: str) -> None:
    trained = checked.trained
    style, word = ("green", "agrees with") if checked.agrees else ("red", "differs from")
    text = f"{'✓' if checked.agrees else '✗'} {word} {against}; {len(trained.losses)} steps"
    if trained.step_cycles:
        text += f", {round(sum(trained.step_cycles) / len(trained.step_cycles)):,} cycles each"
    if trained.update_cycles:
        text += f", an update takes {trained.update_cycles[-1]:,}"
    target.print(Text(text, style), soft_wrap=True)


def print_fitted(target: Console, fitted: Fitted, title: str, tolerance: float) -> None:
    """Epochs, and whether the first losses are numpy's."""
    held = fitted.epochs[0].held_out is not None
    headings = ("epoch", "loss", *(["held out", "accuracy"] if held else []))
    rows: list[Sequence[str | Text]] = []
    for number, epoch in enumerate(fitted.epochs):
        accuracy = "" if epoch.accuracy is None else f"{epoch.accuracy:.1%}"
        own = [f"{epoch.held_out:.6g}", accuracy] if held and epoch.held_out is not None else []
        rows.append([str(number + 1), f"{epoch.loss:.6g}", *own])
    target.print()
    print_titled(target, title, fitting_table(target.width, headings, rows, "epoch", ("accuracy",)))
    if fitted.stopped:
        target.print(f" stopped: {fitted.stopped}", soft_wrap=True)
    if held:
        target.print(f" the smallest held-out loss is that of epoch {fitted.best + 1}", soft_wrap=True)
    agrees, count = fitted.agrees(tolerance), len(fitted.expected)
    verdict = "✓ the first {} losses agree with numpy's" if agrees else "✗ the first {} losses differ from numpy's"
    text = f"{verdict.format(count)}; {len(fitted.losses)} steps"
    if fitted.step_cycles:
        text += f", {round(sum(fitted.step_cycles) / len(fitted.step_cycles)):,} cycles each"
    target.print(Text(text, "green" if agrees else "red"), soft_wrap=True)


def print_plan(target: Console, plan: MemoryPlan) -> None:
    """RAM of the networks, beside each other."""
    headings = ("network", "arena", "inputs and outputs", "of the arena, weights", "gradients", "others", "activations")
    rows = [
        [
            name, size(one.arena), size(one.io), size(one.weights), size(one.buffers), size(one.others),
            size(one.activations),
        ]
        for name, one in plan.networks.items()
    ]  # fmt: skip
    optional = ("others", "gradients", "inputs and outputs")
    table = fitting_table(target.width, headings, rows, "network", optional)
    print_titled(target, f"RAM of {plan.name} on {plan.target}", table)
    for line in plan.lines():
        target.print(f" {line}", soft_wrap=True)


def print_budget(target: Console, plan: MemoryPlan) -> None:
    """Which activations a budget lets a step keep, in the order in which they are made."""
    if not plan.recomputed:
        return
    rows = [
        [name_text(one.name), size(one.bytes), Text("computed again", "yellow") if one.is_recomputed else "kept"]
        for one in plan.kept
    ]  # fmt: skip
    table = fitting_table(target.width, ("activation", "size", ""), rows, "activation", ())
    target.print()
    print_titled(target, "activations that the way back reads", table)


def mark(agrees: bool) -> Text:
    return Text("✓ agrees", "green") if agrees else Text("✗ differs", "red")


def shown(steps: int) -> list[int]:
    if steps <= MOST_STEPS:
        return list(range(steps))
    return sorted({round(at * (steps - 1) / (MOST_STEPS - 1)) for at in range(MOST_STEPS)})
