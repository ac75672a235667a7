"""A server of this machine that answers as OpenAI's completions do, from a model of transformers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import torch


def completion(model: Any, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request: the most probable tokens at every echoed token and at the one that follows."""
    with torch.no_grad():
        logits = model(torch.tensor([body["prompt"]]), use_cache=False).logits[0]
    best = torch.log_softmax(logits, -1).topk(min(body["logprobs"], logits.shape[-1]))
    rows = [dict(zip(map(str, tokens), values, strict=True))
            for tokens, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)]  # fmt: skip
    top = [None, *rows] if body.get("echo") else rows[-1:]
    return {"object": "text_completion", "choices": [{"index": 0, "logprobs": {"top_logprobs": top}}]}


@contextmanager
def serving(model: Any) -> Iterator[str]:
    """The address of a server, for as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(completion(model, body)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *words: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
