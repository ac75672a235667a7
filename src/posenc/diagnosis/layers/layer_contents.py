"""Contents of a model's layers, as data that mistakes rearrange; another model's layers are the evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from posenc.core.doors import Encoding
from posenc.diagnosis.rotation.rotation_usage import rope_in_head, rope_with
from posenc.encodings.adds.resize_table import Resizing
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.rotates.temperature import QueryTemperature
from posenc.models.difference import kind_of_group
from posenc.models.fingerprints import Form, canonical
from posenc.models.model_positions import LayerGroup, ModelPositions, RoleRotation
from posenc.models.patch_positions import PatchPositions

Result = TypeVar("Result")


class Content(NamedTuple):
    """Encodings and factors of one layer."""

    encodings: tuple[Encoding, ...]
    offset: int = 0
    logit_factor: float = 1.0
    query_temperature: QueryTemperature | None = None
    bias_factor: float = 1.0
    roles: tuple[RoleRotation, ...] = ()
    resizing: Resizing | None = None
    patches: PatchPositions | None = None

    @property
    def rotates(self) -> bool:
        return any(encoding.door == "rotates" for encoding in self.encodings)

    @property
    def rope(self) -> RoPE | AxialRoPE | None:
        """The RoPE that rotates, without the head around it."""
        heads = (rope_in_head(encoding) for encoding in self.encodings)
        return next((head.rope for head in heads if head is not None), None)

    def with_rope(self, **fields: Any) -> Content:
        """The content with other fields of its RoPE; encodings whose constructor refuses them stay."""

        def changed(encoding: Encoding) -> Encoding:
            head = rope_in_head(encoding)
            rope = None if head is None else rope_with(head.rope, **fields)
            return (None if head is None or rope is None else head._replace(rope=rope).encoding()) or encoding

        roles = tuple(
            replace(rotation, encoding=changed(rotation.encoding))  # type: ignore[arg-type]
            for rotation in self.roles
        )
        return self._replace(encodings=tuple(map(changed, self.encodings)), roles=roles)

    @property
    def form(self) -> Form:
        """Canonical form: equal where the mathematics is, for images of any size."""
        return (_form(self), str(self.resizing), str(self.patches))


@lru_cache(maxsize=1024)
def _form(content: Content) -> Form:
    return canonical(LayerGroup("text", "", (0,), **content._asdict()))


#: The contents of a part's layers, in their order.
Contents = tuple[Content, ...]


def of_each_layer(contents: Contents, make: Callable[[Content], Result]) -> tuple[Result, ...]:
    """The result for every layer, computed once for layers that share one content object."""
    made = {key: make(content) for key, content in {id(content): content for content in contents}.items()}
    return tuple([made[id(content)] for content in contents])


def different_contents(contents: Contents) -> list[Content]:
    """The different contents, in the order of the layers."""
    return list(dict.fromkeys({id(content): content for content in contents}.values()))


def forms(contents: Contents) -> tuple[Form, ...]:
    """The form of every layer's content."""
    return of_each_layer(contents, lambda content: content.form)


class Layers(NamedTuple):
    """Numbers of the layers of one part and kind, and the content of each."""

    numbers: tuple[int, ...]
    contents: Contents


def layers_by_part(model: ModelPositions) -> Mapping[tuple[str, str], Layers]:
    """Collect layers by (part, kind); cross-attention, and what comes before the layers, are kinds of their own."""
    contents_by_part: dict[tuple[str, str], list[tuple[int, Content]]] = {}
    for group in model.groups:
        content = Content(**{name: getattr(group, name) for name in Content._fields})
        contents_by_part.setdefault((group.part, kind_of_group(group)), []).extend(
            (layer, content) for layer in group.layers or (-1,)
        )
    in_order = {key: sorted(pairs, key=lambda pair: pair[0]) for key, pairs in contents_by_part.items()}
    return {key: Layers(*map(tuple, zip(*pairs, strict=True))) for key, pairs in in_order.items()}


@dataclass(frozen=True)
class OtherLayers:
    """The contents of another model's layers, which a change of the contents must explain."""

    contents: Contents

    def fits(self, contents: Contents, exact: bool = True) -> bool:
        return forms(contents) == forms(self.contents)
