"""The devices that a user has attached to a machine, which stops where one of them fails or hangs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tilewright.sim.user.device import CUserDevice, UserDevice, c_callbacks, heard, python_callbacks
from tilewright.sim.user.watchdog import Watchdog


class WatchedDevices:
    """Those of one machine; `stop` stops it."""

    def __init__(self, stop: Callable[[], object], compiler: str | None = None) -> None:
        self._stop, self._compiler = stop, compiler
        self._watchdog: Watchdog | None = None
        self._attached: list[CUserDevice] = []
        self._failed: BaseException | None = None

    def callbacks(self, name: str, device: UserDevice | str | Path, includes: tuple[Path, ...]) -> CUserDevice:
        """What a machine calls of an object or of a C file. They live as long as this object."""
        self._watchdog = self._watchdog or Watchdog()
        if isinstance(device, UserDevice):
            found = python_callbacks(device, name, self._watchdog, self._fail)
        else:
            path = Path(device).resolve()
            found = c_callbacks(path, name, self._watchdog, self._fail, self._compiler, includes)
        self._attached.append(found)
        return found

    def _fail(self, error: BaseException) -> None:
        self._failed = self._failed or error
        self._stop()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While the machine runs: callbacks that do not come back are stopped, signals inside of them are heard."""
        if self._watchdog is None:
            yield
            return
        with self._watchdog.watching(), heard(self._fail):
            yield

    def raise_failure(self) -> None:
        """What a device has raised."""
        if self._failed:
            error, self._failed = self._failed, None
            raise error
