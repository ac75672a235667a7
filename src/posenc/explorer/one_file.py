"""HTML elements, and modules of JavaScript, styles and data in one HTML file that needs no network.

The file allows no script but its own:

    one_file(title="Angles", entry=FOLDER / "page.js", styles=[FOLDER / "page.css"], body="<main>…</main>", data={...})

The modules stay plain ES modules, which a browser could load one by one. Here each becomes a function's body in one
script, in the order in which they need one another, and the page's policy names the digest of that script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# NUL, the other control characters and lone surrogates have no place in HTML and would end it or fail to encode.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def escape(text: str) -> str:
    """Text that is safe in an element and in a quoted attribute; every piece of text is escaped here."""
    text = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))
    return html.escape(text, quote=True).replace("\u2028", "&#x2028;").replace("\u2029", "&#x2029;")


def tag(name: str, text: str, **attributes: str) -> str:
    """Element that holds text."""
    return element(name, escape(text), **attributes)


def element(name: str, inner: str, **attributes: str) -> str:
    """Element that holds finished HTML."""
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{inner}</{name}>"


#: The modules and styles that the explorer and the lesson share.
BROWSER = Path(__file__).parent / "browser"

_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.{1,2}/[\w./]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)


def one_file(
    *,
    title: str,
    entry: Path,
    styles: Iterable[Path],
    body: str,
    data: Mapping[str, Any] | None = None,
    connect: bool = False,
    language: str = "en",
    description: str = "",
) -> str:
    """Whole page as text.

    `entry` is the module that is run; it and what it imports go into the page. `body` is finished HTML. The script
    finds `data` as JSON in the element with the id "data". `connect` lets it ask the server of the page.
    """
    script, style = linked(entry), "".join(path.read_text(encoding="utf-8") for path in styles)
    return f"""<!DOCTYPE html>
<html lang="{escape(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(script, style, connect=connect)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
{tag("title", title)}
{_described(title, description)}<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{as_json(data or {})}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _described(title: str, description: str) -> str:
    """Elements that search engines and messengers read; none where the page has no description."""
    if not description:
        return ""
    named = {"description": description, "og:title": title, "og:description": description, "og:type": "article"}
    return "".join(
        f'<meta {"property" if name.startswith("og:") else "name"}="{name}" content="{escape(text)}">\n'
        for name, text in named.items()
    )


def policy(script: str, style: str, *, connect: bool) -> str:
    """Content security policy: this script and style by their digests, pictures that are data, nothing else."""
    asks = "'self'" if connect else "'none'"
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data: blob:; "
        f"connect-src {asks}; base-uri 'none'; form-action 'none'"
    )


def as_json(data: Any) -> str:
    r"""JSON that can stand in a script element: no text in it ends the element or opens a comment.

    >>> as_json({"text": "</script>"})
    '{"text":"\\u003c/script>"}'
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def linked(entry: Path) -> str:
    """A module and all that it imports as one script, each module in a function of its own.

    Modules are written so: `import { a, b as c } from "./other.js";` at the top, and `export` before a function, const
    or class. ValueError where one is not, or where modules import one another in a circle.
    """
    order = _in_order(entry.resolve(), {}, ())
    names = {path: f"module_{index}" for index, path in enumerate(order)}
    return "".join(_as_function(path, source, names) for path, source in order.items())


def _in_order(path: Path, done: dict[Path, str], above: tuple[Path, ...]) -> dict[Path, str]:
    """Source of every module that is needed, each behind those that it needs."""
    if path in above:
        raise ValueError(f"entry must import without a circle; got {path.name} again, which needs itself.")
    if path not in done:
        source = path.read_text(encoding="utf-8")
        for _, other in _IMPORT.findall(source):
            _in_order((path.parent / other).resolve(), done, (*above, path))
        done[path] = source
    return done


def _as_function(path: Path, source: str, names: Mapping[Path, str]) -> str:
    def constants(found: re.Match[str]) -> str:
        wanted = re.sub(r"\s+as\s+", ": ", " ".join(found[1].split()))
        return f"const {{ {wanted} }} = {names[(path.parent / found[2]).resolve()]};\n"

    exported = [name for _, name in _EXPORT.findall(source)]
    text = _EXPORT.sub(r"\1 \2", _IMPORT.sub(constants, source))
    if unread := re.search(r"^(?:import|export)\b.*", text, re.MULTILINE):
        raise ValueError(
            f'{path.name} must import as `import {{ a }} from "./b.js";` and export functions, constants and classes; '
            f"got {unread[0]!r}."
        )
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError(f"{path.name} must not hold </script or <!--, which would end or change the page's script.")
    return f"const {names[path]} = (() => {{\n{text}return {{ {', '.join(exported)} }};\n}})();\n"


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
