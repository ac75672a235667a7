"""Pictures of encodings with matplotlib; their numbers come from `posenc.inspect`.

Each function takes an encoding, draws into `ax` or a new figure, and returns the Axes. Functions of several panels
(`heads`, `rotated`, `differences`, `derivative`, `binary`, `attention_map`, `input_sum`, `number_waves`) take and
return an array of Axes. Remaining keywords go to the matplotlib call that draws the data. Nothing is shown and pyplot
is never touched: save with `axes.figure.savefig`, or let a notebook show `axes.figure`.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "matplotlib":
        raise
    raise ModuleNotFoundError(
        "posenc.plot needs matplotlib, which is not installed. Run: pip install matplotlib", name="matplotlib"
    ) from None

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
