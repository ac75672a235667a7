"""`posenc plot`: a picture of an encoding, a model, a comparison or the claims, into a file."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import tyro

from posenc.cli.answer import Answer, Verb
from posenc.cli.inputs import draws, in_existing_folder, model
from posenc.cli.picture_subjects import of_comparison, of_encoding, of_encoding_or_none, of_findings, of_segments
from posenc.cli.terminal import say
from posenc.core.doors import Encoding, Params
from posenc.core.plain_file import write_whole

#: Pictures that several encodings share, as `posenc.plot.together` draws them.
TOGETHER = ("wavelengths", "score_by_distance", "bias_by_distance")
FORMATS = (".png", ".svg", ".pdf")
#: What pictures are asked for besides their file, which each takes or refuses.
OPTIONS = (
    "positions", "position", "at", "pair", "offset", "sentence", "embedding", "other", "causal", "steps", "after",
    "dims",
)  # fmt: skip


class PictureEntry(NamedTuple):
    """A picture of the command line.

    Attributes:
        options: Argument of the picture that each option gives.
        learns: Whether it draws learned parameters, which --seed decides.
        subject: Reads the subject from text.
        function: Function of posenc.plot with the picture's name, unless another is named as module:function.
    """

    options: Mapping[str, str]
    learns: bool = True
    subject: Callable[[str], Any] = of_encoding
    function: str = ""

    @property
    def of_any_encoding(self) -> bool:
        """Whether `--picture all` tries it: it draws an encoding as it is, without training."""
        return self.subject in (of_encoding, of_encoding_or_none) and not self.function


POSITIONS = {"positions": "positions"}
AT = {"at": "positions"}
PICTURES: Mapping[str, PictureEntry] = {
    "heatmap": PictureEntry(POSITIONS),
    "dimensions": PictureEntry({"dims": "dims", **POSITIONS}),
    "waves": PictureEntry({"positions": "length"}, learns=False),
    "wavelengths": PictureEntry({}, learns=False),
    "similarity": PictureEntry(POSITIONS),
    "differences": PictureEntry(AT),
    "binary": PictureEntry({"positions": "count"}, learns=False),
    "dials": PictureEntry({"position": "position"}, learns=False),
    "rotation": PictureEntry({"pair": "pair", **AT}),
    "rotation_matrix": PictureEntry({"position": "position"}),
    "rotated": PictureEntry(AT),
    "pairing": PictureEntry({}),
    "score_by_distance": PictureEntry({"positions": "distances"}),
    "bias": PictureEntry({"positions": "length"}),
    "bias_by_distance": PictureEntry({}),
    "heads": PictureEntry({"positions": "length"}),
    "scalings": PictureEntry({"positions": "target"}, learns=False),
    "input_sum": PictureEntry({"sentence": "sentence", "embedding": "embeddings"}),
    "score_terms": PictureEntry({"sentence": "sentence", "embedding": "embeddings"}),
    "attention_map": PictureEntry({"sentence": "sentence", "causal": "causal"}, subject=of_encoding_or_none),
    "trained_attention": PictureEntry(
        {"sentence": "sentence", "steps": "steps", "seed": "seed"},
        False,
        of_encoding_or_none,
        "posenc.lab.word_roles:trained_maps",
    ),
    "word_order": PictureEntry(
        {"sentence": "sentence", "other": "other", "causal": "causal"}, subject=of_encoding_or_none
    ),
    "shift_matrix": PictureEntry({"offset": "offset"}, learns=False),
    "derivation": PictureEntry({"offset": "offset", "position": "position", "pair": "pair"}, learns=False),
    "derivative": PictureEntry({"dims": "dims", "position": "position", "positions": "length"}, learns=False),
    "look_back": PictureEntry({"offset": "offset", "positions": "positions"}, learns=False),
    "number_waves": PictureEntry({"position": "position"}, learns=False),
    "layers": PictureEntry({}, learns=False, subject=model),
    "media_positions": PictureEntry({"after": "after"}, learns=False, subject=of_segments),
    "results": PictureEntry({}, False, of_comparison, "posenc.lab.comparison.comparison_picture:comparison_picture"),
    "claims": PictureEntry({}, False, of_findings, "posenc.lab.claims.claims_picture:claims_picture"),
}
#: How many positions are drawn, or lie between the first and the last of --at, where none are asked for and the
#: encoding takes so many; a picture that is left out has its own number.
USUAL_POSITIONS = {
    **dict.fromkeys(("heatmap", "dimensions", "waves", "similarity", "score_by_distance", "bias"), 100),
    **dict.fromkeys(("differences", "rotated"), 100),
    "look_back": 32,
    "heads": 24,
}


@dataclass(frozen=True)
class PlotVerb(Verb):
    """Draw a picture into a PNG, SVG or PDF file; the ending of --output decides which.

    Pictures of an encoding: heatmap, dimensions, waves, wavelengths, similarity, differences, binary, dials,
    number_waves, input_sum, score_terms, shift_matrix, derivation, derivative, look_back (encodings that add); heatmap,
    dimensions, rotation, rotated, rotation_matrix, differences, pairing, waves, wavelengths, dials, number_waves,
    scalings (that rotate); bias, bias_by_distance, heads (that bias); score_by_distance, attention_map, word_order
    (most; the last two also without an encoding).

    Of one layer that this command trains: trained_attention (RoPE(dim=16), ALiBi(heads=2), Sinusoidal(dim=32) or no
    encoding).

    Of other subjects: layers (a config), media_positions (segments), results (a folder of `posenc compare`) and claims
    (no subject). The picture "all" draws each that fits the encoding: x.png becomes x-heatmap.png and so on. Those of
    its kind that are left out, since it is too wide, say, are named on stderr with the reason.

    Some examples:
      posenc plot "Sinusoidal(dim=128)" --picture heatmap --output heatmap.png
      posenc plot "Sinusoidal(dim=128)" --picture dimensions --dims 0 21 --output curves.svg
      posenc plot "RoPE(dim=128)" --picture rotated --at 1 51 100 --output rotated.png
      posenc plot "RoPE(dim=8)" --picture rotation --pair 1 --at 0 10 20 --output rotation.svg
      posenc plot "Sinusoidal(dim=8)" --picture dials --position 150 --output dials.png
      posenc plot "Sinusoidal(dim=16, base=100)" --picture input_sum --sentence "classify the book" --output sum.svg
      posenc plot "Sinusoidal(dim=4)" --picture input_sum --embedding "dog=1 0 0.5 -1" --output dog.svg
      posenc plot "Sinusoidal(dim=8)" --picture score_terms --sentence "Dog bites man" --output terms.svg
      posenc plot "RoPE(dim=8)" --picture attention_map --sentence "Dog bites man" --output map.svg
      posenc plot "RoPE(dim=16)" --picture trained_attention --steps 20 --output trained.svg
      posenc plot "RoPE(dim=8)" --picture word_order --sentence "Ann met Bob" --other "Bob met Ann" --output order.svg
      posenc plot "Sinusoidal(dim=64)" --picture look_back --offset 5 --output back.pdf
      posenc plot "Sinusoidal(dim=8)" --picture derivation --offset 3 --position 7 --output derivation.svg
      posenc plot "Sinusoidal(dim=8)" --picture derivative --dims 2 3 --position 3 --output derivative.svg
      posenc plot "ALiBi(heads=8)" --picture bias_by_distance --output alibi.pdf
      posenc plot "RoPE(dim=128)" --picture scalings --positions 131072 --output scalings.svg
      posenc plot config.json --picture layers --output layers.svg
      posenc plot "text 4, image 4x6x1, text 3" --picture media_positions --output media.svg
      posenc plot --picture claims --output claims.svg
      posenc plot "RoPE(dim=128)" "RoPE(dim=128, base=5e5)" --picture wavelengths --width 89mm --output column.pdf
      posenc plot "RoPE(dim=8)" --picture all --output rope.png
    """

    picture: Annotated[str, tyro.conf.arg(metavar="PICTURE")]
    """The name of a picture, or all."""

    output: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """The file to write, or to replace; its ending decides the format."""

    subject: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="SUBJECT")] = ()
    """An encoding such as RoPE(dim=8), which is parsed, never executed; or a config, segments or a folder, as the
    picture needs. Several encodings of wavelengths, score_by_distance and bias_by_distance share one picture."""

    labels: Annotated[tuple[str, ...], tyro.conf.arg(metavar="LABEL")] = ()
    """A label for each of several encodings; the encodings themselves if left out."""

    width: str | None = None
    """How wide the picture is, such as 3.25in, 89mm, 8.9cm or 242pt: the width of a column. Text shrinks with it,
    unless your matplotlibrc states font.size."""

    positions: int | None = None
    """How many positions, numbers or distances to draw, or the length that scalings reach; 100 if left out, 16 of
    binary, 20 of derivative, 24 of heads, 32 of look_back, 32,768 of scalings, but no more than a table has."""

    position: int | None = None
    """The position of the dials and waves (150 if left out), of a rotation's matrix (1), of a derivative's tangents
    (3), or where a derivation starts (5)."""

    at: tuple[int | float, ...] = ()
    """The positions whose effect on one vector is drawn; 0 50 99, or the first, middle and last of a shorter table, or
    1 2 3 4 5 of rotation, if left out."""

    pair: int | None = None
    """The pair of channels that a rotation turns or a derivation follows; 0, the fastest, if left out."""

    offset: int | None = None
    """How many positions a shift moves, or a head looks back; 1, or 3 of look_back, if left out."""

    sentence: Annotated[str | None, tyro.conf.arg(metavar="SENTENCE")] = None
    """The words of input_sum, score_terms, attention_map, trained_attention and word_order; "Dog bites man" if left
    out."""

    embedding: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="WORD=NUMBERS")] = ()
    """The vector of a word of input_sum or score_terms, such as "dog=1 0 0.5 -1"; drawn for words without one."""

    other: Annotated[str | None, tyro.conf.arg(metavar="SENTENCE")] = None
    """The same words in another order, for word_order; "Man bites dog" if left out."""

    causal: bool = False
    """Whether a word of attention_map and word_order sees only those before it."""

    steps: int | None = None
    """How many steps trained_attention trains; 200 if left out."""

    after: Literal["largest", "extent"] | None = None
    """Where media_positions goes on after an image: beyond the largest coordinate (the paper) if left out, or beyond
    the longer side (Qwen2-VL's code)."""

    dims: tuple[int, ...] = ()
    """Which curves to draw; of dimensions 0 and 21, or the first and the last, of derivative the first two, if left
    out."""

    dpi: int | None = None
    """Dots an inch of a PNG; 160 if left out."""

    seed: int | None = None
    """Draws what an encoding learns, or the training of trained_attention; 0 if left out."""

    def run(self) -> Answer:
        if self.picture not in (*PICTURES, "all"):
            raise ValueError(
                f"picture must be one of {', '.join(PICTURES)} or all; got {self.picture!r}. Choose one of these."
            )
        ending = self.output.suffix.lower()
        if ending not in FORMATS:
            raise ValueError(
                f"output must end in {', '.join(FORMATS)}; got {str(self.output)!r}. Choose one of these endings."
            )
        in_existing_folder(self.output)
        subject = self._read()
        if self.picture == "all":
            return self._all(subject, ending)
        written = self._one(subject, self.picture, ending)
        subjects = list(self.subject) if len(self.subject) > 1 else self._text
        return Answer(lambda: {"subject": subjects, "written": [written]}, lambda: [f"wrote {written}"])

    @property
    def _text(self) -> str:
        """The subject, where it is one; "" where it is left out."""
        return self.subject[0] if self.subject else ""

    def _read(self) -> Any:
        """The subject that is drawn, or a tuple of encodings for one picture."""
        read = of_encoding if self.picture == "all" else PICTURES[self.picture].subject
        if len(self.subject) < 2 and not self.labels:
            return read(self._text)
        if len(self.subject) < 2 or self.picture not in TOGETHER:
            rule = f"subject must be one for {self.picture}; got {len(self.subject)}"
            if len(self.subject) < 2:
                rule = f"labels must be left out for {self.picture} of one encoding; got {len(self.labels)}"
            raise ValueError(f"{rule}. {', '.join(TOGETHER)} draw several encodings, with a label each.")
        return tuple(map(read, self.subject))

    def _all(self, encoding: Encoding, ending: str) -> Answer:
        """Each picture that fits the encoding, with the options that it takes; each option must be taken by one."""
        pictures: dict[str, bytes] = {}
        left_out: dict[str, str] = {}
        for name in (name for name, picture in PICTURES.items() if picture.of_any_encoding):
            try:
                pictures[name] = self._image(encoding, name, ending)
            except (TypeError, ValueError) as error:
                if self._is_about_options(str(error), name):
                    raise
                if isinstance(error, ValueError):  # a TypeError: a picture of another kind of encoding
                    left_out[name] = str(error)
        for reason in dict.fromkeys(left_out.values()):
            say(f"left out {', '.join(name for name in left_out if left_out[name] == reason)}: {reason}")
        if not pictures:
            raise ValueError(
                f"picture must fit the encoding; got none that fits {self._text}. `posenc plot --help` lists them."
            )
        self._takes(encoding, ending, tuple(pictures))
        paths = {name: self.output.with_stem(f"{self.output.stem}-{name}") for name in pictures}
        for name, data in pictures.items():
            write_whole(paths[name], data)
        written = [str(path) for path in paths.values()]
        facts = {"subject": self._text, "written": written, "left_out": left_out}
        return Answer(lambda: facts, lambda: [f"wrote {path}" for path in written])

    def _is_about_options(self, error: str, name: str) -> bool:
        """Whether an error is about an option that was given, or about what every picture needs."""
        given = {
            option: argument for option, argument in PICTURES[name].options.items() if _given(getattr(self, option))
        }
        return error.partition(" ")[0] in {"matplotlib", "width", "dpi", *given, *given.values()}

    def _one(self, subject: Any, name: str, ending: str) -> str:
        self._takes(subject, ending, (name,))
        write_whole(self.output, self._image(subject, name, ending))
        return str(self.output)

    def _image(self, subject: Any, name: str, ending: str) -> bytes:
        """The picture as the bytes of its file."""
        saved: dict[str, Any] = {"kind": ending[1:], "dpi": 160 if self.dpi is None else self.dpi}
        picture = self._drawn(subject, name)  # says what to install where there is no matplotlib
        from posenc.plot.column_width import SMALLEST, drawn_box, inches, smaller_text, smallest_text
        from posenc.plot.export import figure_of, image

        if self.width is None:
            return bytes(image(picture, **saved).data)
        width = inches(self.width)
        with smaller_text(width / drawn_box(figure_of(picture)).width):
            picture = self._drawn(subject, name)
            data = bytes(image(picture, **saved, width=width).data)
            letters = smallest_text(figure_of(picture))
        if letters < SMALLEST:
            raise ValueError(
                f"width must leave letters of {SMALLEST:g} points, to be read; got {self.width}, which gives {name} "
                f"letters of {letters:.1f}. Use {width * SMALLEST / letters:.1f}in or more."
            )
        return data

    def _takes(self, subject: Any, ending: str, names: tuple[str, ...]) -> None:
        """Refuse an option that none of these pictures takes."""
        taken = {option for name in names for option in PICTURES[name].options}
        taken |= {"dpi"} if ending == ".png" else set()
        encodings = subject if isinstance(subject, tuple) else (subject,)
        learned = any(isinstance(one, Encoding) and draws(one) for one in encodings)
        taken |= {"seed"} if learned and any(PICTURES[name].learns for name in names) else set()
        for option in (*OPTIONS, "dpi", "seed"):
            if option not in taken and _given(getattr(self, option)):
                listed = ", ".join(f"--{one}" for one in sorted(taken)) or "no such option"
                raise ValueError(
                    f"{option} must be left out for {self.picture} of {', '.join(self.subject):.60} in {ending}, which "
                    f"takes {listed}; got one. Leave it out."
                )

    def _drawn(self, subject: Any, name: str) -> Any:
        picture = PICTURES[name]
        drawing: Callable[..., Any] = _drawing(picture.function or f"posenc.plot:{name}")
        usual = _usual_positions(subject, USUAL_POSITIONS[name]) if name in USUAL_POSITIONS else {}
        usual |= {"dims": _usual_dims(subject)} if name == "dimensions" else {}
        chosen = {option: getattr(self, option) for option in picture.options}
        options = {option: value if _given(value) else usual.get(option) for option, value in chosen.items()}
        given: dict[str, Any] = {
            picture.options[option]: value for option, value in options.items() if value is not None
        }
        if "embeddings" in given:
            given["embeddings"] = _vectors(self.embedding)
        if isinstance(subject, tuple):
            given |= {"params": list(map(self._learned, subject))} if picture.learns else {}
            return _drawing("posenc.plot:together")(name, subject, labels=self.labels or None, **given)
        if picture.learns and isinstance(subject, Encoding):
            given["params"] = self._learned(subject)
        if name == "binary" and self.positions:
            given["bits"] = max(4, (self.positions - 1).bit_length())
        return drawing(encoding=subject, **given) if name == "binary" else drawing(subject, **given)

    def _learned(self, encoding: Encoding) -> Params | None:
        """Learned parameters, as drawn with the seed; None for an encoding without any."""
        return encoding.init(np.random.default_rng(self.seed or 0)) if encoding.shapes else None


def _given(value: Any) -> bool:
    """Whether an option was given, and not left at its default."""
    return value is not None and value is not False and value != ()


def _vectors(texts: tuple[str, ...]) -> dict[str, list[float]]:
    """Parse texts such as "dog=1 0 0.5 -1" into a vector for each word."""
    vectors: dict[str, list[float]] = {}
    for text in texts:
        word, _, listed = text.partition("=")
        try:
            numbers = [float(part) for part in listed.replace(",", " ").split()]
        except ValueError:
            numbers = []
        if not word.strip() or not numbers or not np.isfinite(numbers).all():
            raise ValueError(f'embedding must be WORD=NUMBERS; got {text!r:.100}. Write "dog=1 0 0.5 -1", say.')
        if word.strip() in vectors:
            raise ValueError(f"embedding must name a word once; got {word.strip()!r:.60} twice. Leave one out.")
        vectors[word.strip()] = numbers
    return vectors


def _usual_dims(subject: Any) -> tuple[int, ...]:
    """Dimensions 0 and 21, as the article draws, or the first and the last of an encoding that is narrower."""
    width = int(getattr(subject, "width", 0) or getattr(subject, "head_dim", 0))
    return (0, 21) if width > 21 else tuple(sorted({0, max(width - 1, 0)}))


def _usual_positions(subject: Any, most: int) -> dict[str, Any]:
    """How many positions are drawn, and three of them: no more than the subjects take."""
    from posenc.testing.door_probe import accepts, last_position

    subjects = subject if isinstance(subject, tuple) else (subject,)
    far = [one for one in subjects if one.axes == 1 and not accepts(one, most - 1)]
    count = min([most, *(last_position(one) + 1 for one in far)])
    return {"positions": count, "at": tuple(dict.fromkeys((0, count // 2, count - 1)))}


def _drawing(function: str) -> Any:
    try:
        return pkgutil.resolve_name(function)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ValueError("matplotlib must be installed to draw; it is not. Run: pip install matplotlib") from None
