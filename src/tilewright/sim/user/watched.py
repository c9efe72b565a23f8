"""The devices that a user has attached to a machine, which stops where one of them fails or hangs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tilewright.sim.rtl.build import RtlDevice
from tilewright.sim.rtl.waves import waves_file
from tilewright.sim.user.device import (
    CUserDevice,
    UserDevice,
    c_callbacks,
    heard,
    python_callbacks,
    rtl_callbacks,
)
from tilewright.sim.user.watchdog import Watchdog


class WatchedDevices:
    """Those of one machine; `stop` stops it."""

    def __init__(self, stop: Callable[[], object], compiler: str | None = None) -> None:
        self._stop, self._compiler = stop, compiler
        self._watchdog: Watchdog | None = None
        self._attached: list[CUserDevice] = []
        self._failed: BaseException | None = None
        self._libraries: list[ctypes.CDLL] = []

    def callbacks(
        self, name: str, device: UserDevice | RtlDevice | str | Path, includes: tuple[Path, ...]
    ) -> CUserDevice:
        """What a machine calls of an object, of Verilog or of a C file. They live as long as this object."""
        self._watchdog = self._watchdog or Watchdog()
        if isinstance(device, UserDevice):
            found = python_callbacks(device, name, self._watchdog, self._fail)
        elif isinstance(device, RtlDevice):
            waves = waves_file(name)
            found, library = rtl_callbacks(device, name, self._watchdog, self._fail, waves, id(self))
            self._libraries.append(library)
        else:
            path = Path(device).resolve()
            found = c_callbacks(path, name, self._watchdog, self._fail, self._compiler, includes)
        self._attached.append(found)
        return found

    def close(self) -> None:
        """The machine is gone."""
        for library in self._libraries:
            library.tw_rtl_close(ctypes.c_uint64(id(self)))
        self._libraries.clear()

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
