"""Checks of every request before it is served: host, origin and token; and the size limit that app.py enforces.

A page of another site can send requests to this machine. It cannot read the token, which is in the address that was
printed; it cannot name this host, since only the names of this machine are allowed; and it cannot hide its origin.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: The largest request: two configs, each far larger than any released one.
LARGEST_BODY = 2 << 20

#: Headers of every answer.
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
WRONG_TOKEN = "token must be the one of this run. Open the address that posenc printed."
FRAMES = "frame-ancestors 'none'"
NOTHING = f"default-src 'none'; {FRAMES}"


@dataclass(frozen=True)
class Refusal:
    """Refusal of a request: HTTP status and message; `lacks_token` marks a GET request without any token."""

    status: int
    line: str
    lacks_token: bool = False


@dataclass(frozen=True)
class Guard:
    """Checks of a server: the token that a request must know, and the port of the server."""

    token: str
    port: int

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of this machine with the port."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def refusal(self, method: str, headers: Mapping[str, str], query: Mapping[str, Any]) -> Refusal | None:
        """Check host, origin and token (in the query of a GET, else in a header); return a refusal, or None."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return Refusal(403, f"host must be {' or '.join(self.hosts)}. Open the address that posenc printed.")
        if method == "GET":
            token = query.get("token", "")
        else:
            token = headers.get("x-posenc-token", "")
            if origin != f"http://{host}":
                return Refusal(403, "origin must be this page. Open the address that posenc printed.")
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return Refusal(403, WRONG_TOKEN, method == "GET" and not token)
        return None
