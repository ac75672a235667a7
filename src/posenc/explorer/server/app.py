"""The explorer as an ASGI application: the page at /, and each view's answers at /api/NAME."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from posenc.explorer.explorer_page import Opening, live_page, page_without_token
from posenc.explorer.server.guard import FRAMES, HEADERS, LARGEST_BODY, NOTHING, WRONG_TOKEN, Guard
from posenc.explorer.views import VIEWS

#: Views that are computed at the same time; more wait, so that many requests need no more memory than a few.
AT_ONCE = 4


def application(guard: Guard, opening: Opening) -> Starlette:
    """Application of the server, whose page shows `opening` first."""
    page, policy = live_page(opening, guard.token)
    entrance, its_policy = page_without_token(WRONG_TOKEN)
    limiter: list[CapacityLimiter] = []

    async def root(request: Request) -> Response:
        refusal = guard.refusal(request.method, request.headers, request.query_params)
        if refusal is not None and refusal.lacks_token:
            headers = {**HEADERS, "content-security-policy": f"{its_policy}; {FRAMES}"}
            return HTMLResponse(entrance, headers=headers)
        if refusal is not None:
            return _line(refusal.status, refusal.line)
        return HTMLResponse(page, headers={**HEADERS, "content-security-policy": f"{policy}; {FRAMES}"})

    async def view(request: Request) -> Response:
        refusal = guard.refusal(request.method, request.headers, request.query_params)
        if refusal is not None:
            return _line(refusal.status, refusal.line)
        try:
            body = await _body(request)
        except ClientDisconnect:
            return _line(400, "request must be whole; the connection ended. Ask again.")
        if body is None:
            return _line(413, f"request must be at most {LARGEST_BODY >> 20} MB. Give a config.json, not the weights.")
        limiter[:] = limiter or [CapacityLimiter(AT_ONCE)]
        ask = partial(answer, request.path_params["name"], body)
        status, facts = await to_thread.run_sync(ask, limiter=limiter[0])
        return JSONResponse(facts, status_code=status, headers=_HEADERS)

    async def missing(request: Request, error: Exception) -> Response:
        return _line(getattr(error, "status_code", 404), "page must be / or a view; there is no other.")

    routes = [Route("/", root, methods=["GET"]), Route("/api/{name}", view, methods=["POST"])]
    return Starlette(routes=routes, exception_handlers={404: missing, 405: missing})


def answer(name: str, body: bytes) -> tuple[int, dict[str, Any]]:
    """A view's facts for a request's body, or the one line that says what is wrong, with the HTTP status."""
    if name not in VIEWS:
        return 404, {"error": f"view must be one of {', '.join(VIEWS)}. Ask for one of these."}
    try:
        asked = json.loads(body)
        if not isinstance(asked, Mapping):
            raise ValueError("request must be an object of fields. Send one.")
        return 200, VIEWS[name](**asked).facts()
    except RecursionError:
        return 400, {"error": "request must not be nested so deeply. Send a plain one."}
    except UnicodeDecodeError:
        return 400, {"error": "request must be UTF-8. Send JSON."}
    except json.JSONDecodeError as error:
        return 400, {"error": f"request must be JSON; {error}. Send JSON."}
    except (ValueError, TypeError) as error:
        return 200, {"error": " ".join(str(error).split())}  # an answer to the reader, not a fault of the request


async def _body(request: Request) -> bytes | None:
    """Body of a request, or None where it is too large: no more is read then."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > LARGEST_BODY:
        return None
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LARGEST_BODY:
            return None
        parts.append(part)
    return b"".join(parts)


_HEADERS = {**HEADERS, "content-security-policy": NOTHING}


def _line(status: int, line: str) -> Response:
    headers = {**_HEADERS, "connection": "close"}  # what is left of a body that is too large is not read
    return PlainTextResponse(line, status_code=status, headers=headers)
