"""The explorer's server: who may ask, what for, how much; every refusal is one line."""

import http.client
import json
import re

import pytest

from browser.server import TOKEN
from every import every

#: What is asked for instead of the page and its views.
PATHS = (
    *("/index.html", "/docs", "/openapi.json", "/favicon.ico", "/.git/config", "/browser/angles.js", "/;/"),
    *("/api", "/api/", "/api/nothing", "/api/TABLE", "/api/__init__", "/api/cell%00", "/api/%2e%2e", "/api/table/.."),
    *("/api/../etc/passwd", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd"),
    *("/static/../main.js", "//evil.example/", "/%c0%ae%c0%ae/", "/?x=/etc/passwd", "/\\..\\..\\windows"),
)
BODIES = {
    b"": "JSON",
    b"{": "JSON",
    b"[]": "object",
    b"3": "object",
    b"null": "object",
    b"{}": "encoding",
    b'{"encoding": 3}': "encoding must be a text",
    b'{"encoding": "RoPE"}': "encoding must be",
    b'{"encoding": "RoPE(dim=7)"}': "dim must be",
    b'{"encoding": "__import__(\'os\')"}': "encoding must",
    b'{"encoding": "RoPE(dim=8)", "nothing": 1}': "nothing",
    b'{"encoding": "RoPE(dim=8)", "positions": 1e9}': "positions must be",
    b'{"encoding": "RoPE(dim=8)", "positions": NaN}': "positions must be",
    b'{"encoding": "Sinusoidal(dim=1000000)"}': "at most 4096",
    b'{"encoding": "Learned(length=100000000, dim=4096)"}': "must",
    b'{"encoding": "RoPE(dim=4096)", "positions": 1024}': "must give at most",
    b"[" * 100_000: "nested",
    b"\xff": "UTF-8",
}


def test_the_page_comes_with_its_policy_and_allows_no_other_script(server):
    status, body, headers = server.request("GET", f"/?token={TOKEN}", origin=None, x_posenc_token=None)
    policy = headers["content-security-policy"]
    assert status == 200
    assert b"<title>posenc explorer</title>" in body
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "access-control-allow-origin" not in headers
    assert re.search(rb'content="([^"]*)"', body)


def test_who_may_not_ask_is_told_so_in_one_line(server):
    refused = [
        ("GET", "/", {"host": "evil.example"}),
        ("GET", "/?token=wrong", {}),
        ("GET", f"/?token={TOKEN}", {"host": "evil.example"}),
        ("GET", f"/?token={TOKEN}", {"host": f"127.0.0.1.evil.example:{server.port}"}),
        ("GET", f"/?token={TOKEN}", {"host": "127.0.0.1"}),
        ("POST", "/api/table", {"x_posenc_token": None}),
        ("POST", "/api/table", {"x_posenc_token": "é"}),
        ("POST", "/api/table", {"origin": "http://evil.example"}),
        ("POST", "/api/table", {"origin": None}),
        ("POST", "/api/table", {"origin": "null"}),
        ("POST", "/api/table", {"origin": f"https://127.0.0.1:{server.port}"}),
        ("POST", "/api/table", {"host": "evil.example", "origin": "http://evil.example"}),
    ]

    def check(case):
        method, path, headers = case
        status, body, _ = server.request(method, path, b"{}", **headers)
        assert status == 403
        assert body.decode().endswith("Open the address that posenc printed.")
        assert b"\n" not in body

    every(refused, check)


def test_a_page_without_its_token_holds_one_line_and_nothing_else(server):
    status, body, headers = server.request("GET", "/", origin=None, x_posenc_token=None)
    assert status == 200
    assert b"<p>token must be the one of this run. Open the address that posenc printed.</p>" in body
    assert not [word for word in (TOKEN, "catalog", "Sinusoidal") if word.encode() in body]
    policy = headers["content-security-policy"]
    assert all(rule in policy for rule in ("default-src 'none'", "connect-src 'none'", "frame-ancestors 'none'"))


def test_no_other_path_is_served(server):
    def check(path):
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
            status, body, _ = server.request(method, path, b"{}")
            assert status in (400, 403, 404, 405) or body.count(b"<p>token must be") == 1, (method, status)
            assert b"root:" not in body
            assert b"import" not in body

    every(PATHS, check)


def test_nonsense_is_answered_in_one_line_that_names_the_field(server):
    def check(case):
        body, expected = case
        status, answer, _ = server.request("POST", "/api/table", body)
        line = json.loads(answer)["error"]
        assert status in (200, 400)
        assert expected in line
        assert "\n" not in line

    every(BODIES.items(), check)


def test_an_upload_beyond_the_limit_is_refused_before_it_is_read(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest("POST", "/api/table", skip_host=True)
    for name, value in {
        "host": f"127.0.0.1:{server.port}", "origin": f"http://127.0.0.1:{server.port}", "x-posenc-token": TOKEN,
        "content-length": str(100 << 20),
    }.items():  # fmt: skip
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()  # nothing of the 100 MB was sent
    assert answer.status == 413
    assert b"at most 2 MB" in answer.read()
    connection.close()
    undeclared = (b" " * (1 << 16) for _ in range(100 << 4))  # in chunks, 100 MB, whose end nobody waits for
    with pytest.raises((BrokenPipeError, ConnectionResetError, AssertionError)):
        assert server.request("POST", "/api/table", undeclared)[0] == 200
    assert server.ask("table", encoding="RoPE(dim=8)")[0] == 200


@pytest.mark.browser
def test_a_thousand_requests_at_fifty_at_once_cost_no_memory(server):
    import gc
    import resource
    from concurrent.futures import ThreadPoolExecutor

    def one(index):
        return server.ask("table", encoding=f"Sinusoidal(dim={8 + 2 * (index % 40)})", positions=64)[0]

    def round_of(count):
        with ThreadPoolExecutor(50) as pool:
            assert set(pool.map(one, range(count))) == {200}
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    warm = round_of(200)
    assert round_of(1000) - warm < 24 << 10  # KiB: what a thousand kept answers would take is 200 MB
