"""The explorer of one encoding, as a cell of a notebook or a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.explorer.explorer_page import Opening, static_page
from posenc.explorer.one_file import escape
from posenc.explorer.views.view import bounded, written
from posenc.explorer.write_atomically import write_atomically


@dataclass(frozen=True)
class Explorer:
    """Static views of an encoding: a notebook shows them as its cell; `write` makes a file of them.

    They hold their numbers, so that neither a server nor a network is needed; what needs Python is greyed out.

    Args:
        encoding: An encoding of any door, of at most 4,096 channels or heads.

    Raises:
        TypeError: `encoding` is no encoding.
        ValueError: `encoding` has more channels or heads, or more to learn, than a page shows.

    Example:
        >>> from posenc import RoPE
        >>> Explorer(RoPE(dim=8))._repr_html_()[:7]
        '<iframe'
    """

    encoding: Encoding

    def __post_init__(self) -> None:
        bounded(validation.instance("encoding", self.encoding, Encoding, "an encoding"))

    def html(self) -> str:
        """Page as text.

        Returns:
            A whole HTML file.
        """
        return static_page(Opening(written(self.encoding)))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page atomically.

        Args:
            path: File to write or to replace, in an existing folder.

        Returns:
            The path.

        Raises:
            TypeError: `path` names no file.
            ValueError: `path` is a folder, a link, or in a folder that does not exist.
        """
        return write_atomically(path, self.html())

    def _repr_html_(self) -> str:
        # A frame of its own: the page's policy and styles hold in it alone, and its script reaches nothing outside.
        attributes = 'sandbox="allow-scripts allow-downloads" width="100%" height="900" loading="lazy"'
        return f'<iframe title="{escape(written(self.encoding))}" {attributes} srcdoc="{escape(self.html())}"></iframe>'
