"""What a client is told where something is wrong, in the form that OpenAI's clients know."""

from __future__ import annotations

from typing import Any

from tilewright.errors import CompileError

INVALID, MISSING, BUSY, INTERNAL = "invalid_request_error", "not_found_error", "overloaded_error", "server_error"
"""Types of errors."""


class RequestRefused(Exception):
    """A request that gets no answer."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.message, self.param, self.code, self.status = message, param, code, status

    @classmethod
    def of(cls, error: CompileError, param: str | None = None) -> RequestRefused:
        hint = f" ({error.hint})" if error.hint else ""
        return cls(f"{error.where}: {error.what}{hint}", param)

    @property
    def body(self) -> dict[str, Any]:
        kinds = {404: MISSING, 503: BUSY, 500: INTERNAL}
        kind = kinds.get(self.status, INVALID)
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}
