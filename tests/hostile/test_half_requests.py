"""The explorer's server and connections that send half a request."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("uvicorn")

#: The server, which waits a second for a whole request here.
SERVER = """
import sys
import posenc.explorer.server.whole_requests as whole_requests
from posenc.cli import main
whole_requests.SECONDS = 1.0
sys.argv[1:] = ["explore", "--no-browser"]
main()
"""


def connected(port: int, *, token: str, body: str, whole_head: bool = True) -> socket.socket:
    """A connection that has sent a head of a request for a body of 100 bytes, or half of it, and a body."""
    host = f"127.0.0.1:{port}"
    head = f"POST /api/no HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\nx-posenc-token: {token}\r\n"
    found = socket.create_connection(("127.0.0.1", port), timeout=20)
    found.sendall(f"{head}content-length: 100\r\n\r\n{body}".encode() if whole_head else head.encode())
    return found


def test_half_a_request_is_neither_waited_for_nor_talked_about():
    ran = subprocess.Popen(
        [sys.executable, "-u", "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert ran.stdout is not None
        line = next(line for line in ran.stdout if "token=" in line)
        found = re.search(r":(\d+)/\?token=(\S+)", line)
        assert found is not None
        port, token = int(found[1]), found[2]
        with connected(port, token=token, body="{}".ljust(100)) as whole:
            assert whole.recv(12) == b"HTTP/1.1 404"
        for half in (
            connected(port, token=token, body="{"),
            connected(port, token=token, body="", whole_head=False),
            socket.create_connection(("127.0.0.1", port), timeout=20),
        ):
            with half:
                while half.recv(1 << 10):  # until the server closes it
                    pass
        with connected(port, token=token, body="{"):
            time.sleep(0.3)
            ran.send_signal(signal.SIGINT)
            said, _ = ran.communicate(timeout=20)
    finally:
        ran.kill()
    assert ran.returncode == 0
    assert [line for line in said.splitlines() if "Ctrl-C" not in line] == []
