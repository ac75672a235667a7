"""The explorer's server in a thread, and requests to it that may lie about anything."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from posenc.explorer.explorer_page import Opening
from posenc.explorer.server.app import application
from posenc.explorer.server.guard import Guard
from posenc.explorer.server.serve import SETTINGS, _bound

TOKEN = "a-token-that-only-the-reader-knows"


@dataclass(frozen=True)
class Served:
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={TOKEN}"

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes, Any]:
        """Status, body and headers of an answer. headers: host, origin, x_posenc_token; the right ones if left out."""
        given = {"host": f"127.0.0.1:{self.port}", "origin": f"http://127.0.0.1:{self.port}", "x_posenc_token": TOKEN}
        given |= headers
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            sent = {name.replace("_", "-"): value for name, value in given.items() if value is not None}
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def ask(self, view: str, **asked: Any) -> tuple[int, Any]:
        status, body, _ = self.request("POST", f"/api/{view}", json.dumps(asked).encode())
        return status, json.loads(body)


@contextmanager
def served(opening: Opening | None = None) -> Iterator[Served]:
    listening = _bound(0)
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(application(Guard(TOKEN, port), opening or Opening()), **SETTINGS))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    yield Served(port)
    server.should_exit = True
    thread.join(10)
