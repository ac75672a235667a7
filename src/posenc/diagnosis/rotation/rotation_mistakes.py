"""Every known mistake in a rotation, of configs and of running code. Add one in the file of its kind."""

from posenc.diagnosis.rotation.mistakes_axes import AXES
from posenc.diagnosis.rotation.mistakes_base_and_pairing import FIELDS
from posenc.diagnosis.rotation.mistakes_one_side import ONE_SIDE
from posenc.diagnosis.rotation.mistakes_positions import READ_OFF
from posenc.diagnosis.rotation.mistakes_runtime import NARROW, RUNTIME
from posenc.diagnosis.rotation.mistakes_scaling import SCALING

#: In the order of the search: what a config can say before what running code alone can do, except for the 16-bit types,
#: which have no number that could be read off to fit.
IN_CONFIGS = tuple(mistake for mistake in (*SCALING, *FIELDS, *AXES) if mistake.only_in != "code")
IN_CODE = tuple(
    mistake
    for mistake in (*NARROW, *SCALING, *FIELDS, *AXES, *RUNTIME, *ONE_SIDE, *READ_OFF)
    if mistake.only_in != "configs"
)
