"""Start the explorer on this machine, open a browser, and stop with Ctrl-C."""

from __future__ import annotations

import contextlib
import secrets
import socket
import webbrowser
from collections.abc import Callable
from typing import Any

from posenc.explorer.explorer_page import Opening
from posenc.explorer.server.guard import Guard

HOST = "127.0.0.1"
#: Settings of uvicorn: bounded heads of requests and numbers of connections, and no word about itself.
SETTINGS: dict[str, Any] = {
    "log_level": "warning",
    "access_log": False,
    "server_header": False,
    "h11_max_incomplete_event_size": 32 << 10,
    "limit_concurrency": 512,
    "timeout_keep_alive": 15,
    "timeout_graceful_shutdown": 2,
    "ws": "none",
    "lifespan": "off",
}


def serve(opening: Opening, port: int, *, browser: bool, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C.

    Port 0 takes a free one; `browser` opens one; `say` prints a line. ValueError where the port is taken or the extra
    `explore` is not installed.
    """
    uvicorn, application, whole_requests = _libraries()
    with _bound(port) as listening:
        actual = listening.getsockname()[1]
        guard = Guard(secrets.token_urlsafe(24), actual)
        address = f"http://{HOST}:{actual}/?token={guard.token}"
        server = uvicorn.Server(uvicorn.Config(application(guard, opening), http=whole_requests, **SETTINGS))
        say(f"The explorer is at {address}")
        say("Stop it with Ctrl-C.")
        if browser and not _opened(address):
            say("No browser opened: open the address yourself.")
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])


def _bound(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        reason = error.strerror or str(error)
        raise ValueError(f"port must be free; got {port}: {reason}. Leave it out, or choose another one.") from None
    listening.listen(128)
    return listening


def _opened(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False


def _libraries() -> tuple[Any, Any, Any]:
    try:
        import uvicorn

        from posenc.explorer.server.app import application
        from posenc.explorer.server.whole_requests import WholeRequests
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("uvicorn", "starlette", "anyio", "h11"):
            raise
        raise ValueError(
            f"{error.name} must be installed to explore; it is not. Run: pip install starlette uvicorn "
            "(or write a file with --output, which needs neither)"
        ) from None
    return uvicorn, application, WholeRequests
