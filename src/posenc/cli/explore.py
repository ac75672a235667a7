"""`posenc explore`: the explorer, on a local server or as one file."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from posenc import parse
from posenc.cli.answer import Answer, Verb
from posenc.cli.inputs import encoding, in_existing_folder, is_config
from posenc.cli.terminal import wrapped_for
from posenc.core.plain_file import write_whole
from posenc.core.text_lines import escaped
from posenc.explorer.explorer_page import FIRST_ENCODING, Opening, static_page
from posenc.explorer.server.serve import serve
from posenc.explorer.views.results_view import results
from posenc.explorer.views.view import bounded, written
from posenc.lab import store


@dataclass(frozen=True)
class ExploreVerb(Verb):
    """Explore encodings and models in a browser.

    It shows heat maps whose cells show their formula, curves, scores, configs, claims, and what the lab found.

    Starts a server that only this machine reaches, prints its address and opens it; Ctrl-C stops it. With --output it
    writes one file instead, which needs no server: what needs Python is greyed out there.

    Some examples:
      posenc explore
      posenc explore "RoPE(dim=64)"
      posenc explore config.json --port 8000 --no-browser
      posenc explore comparison
      posenc explore "Sinusoidal(dim=32)" --output sinusoidal.html
    """

    what: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="ENCODING|CONFIG|RESULTS")] = None
    """An encoding such as RoPE(dim=64), a model's config.json or its folder, or a folder of posenc compare; a
    sinusoidal encoding if left out."""

    port: int = 0
    """The port of the server; a free one if left out."""

    no_browser: bool = False
    """Print the address and open nothing."""

    output: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write one .html file instead of starting a server."""

    def run(self) -> Answer:
        opening = _opening(self.what)
        if self.output is not None:
            return self._written(opening, self.output)
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port must be from 0 to 65535; got {self.port}. Leave it out for a free one.")
        if self.json:
            raise ValueError("json must come with --output; a server prints its address. Leave it out.")
        serve(opening, self.port, browser=not self.no_browser, say=_print)
        return Answer(lambda: {}, lambda: [])

    def _written(self, opening: Opening, output: Path) -> Answer:
        if self.port or self.no_browser:
            raise ValueError("port and no-browser must be left out with --output, which starts no server; got one.")
        if output.suffix.lower() != ".html":
            raise ValueError(f"output must end in .html; got {str(output)!r}. Write explorer.html, say.")
        in_existing_folder(output)
        write_whole(output, static_page(opening).encode())
        return Answer(lambda: {"written": str(output)}, lambda: [f"wrote {output}"])


def _opening(what: str | None) -> Opening:
    if what is None:
        return Opening()
    if parse.is_record(what):
        return Opening(encoding=written(bounded(encoding("encoding", what, "Explore one of its layers."))))
    if (Path(what) / store.NAME).exists():
        return Opening(results=results(what))
    if is_config(what) and not what.endswith(".gguf"):
        from posenc.models import from_config
        from posenc.models.config.json_file import load_config

        from_config(what)  # a config that posenc cannot read is refused here, in one line
        return Opening(FIRST_ENCODING, load_config(what), Path(what).name)
    raise ValueError(
        "what must be an encoding, RoPE(dim=64), a config.json or its folder, or a folder of posenc compare; got "
        f"{what!r:.100}. Write one of these."
    )


def _print(line: str) -> None:
    print(wrapped_for(escaped(line), sys.stdout), flush=True)
