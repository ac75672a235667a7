"""The rows of every model type, and the row of each name."""

from collections.abc import Mapping
from types import MappingProxyType

from posenc.models.config.model_type import ModelType
from posenc.models.config.model_types.audio import AUDIO
from posenc.models.config.model_types.biases import BIASES
from posenc.models.config.model_types.latent_attention import LATENT_ATTENTION
from posenc.models.config.model_types.learned_tables import LEARNED_TABLES
from posenc.models.config.model_types.media_text import MEDIA_TEXT
from posenc.models.config.model_types.no_positions import NO_POSITIONS
from posenc.models.config.model_types.not_read import NOT_READ
from posenc.models.config.model_types.patch_tables import PATCH_TABLES
from posenc.models.config.model_types.text import TEXT
from posenc.models.config.model_types.vision import VISION

ROWS = (
    *TEXT,
    *LATENT_ATTENTION,
    *MEDIA_TEXT,
    *VISION,
    *AUDIO,
    *LEARNED_TABLES,
    *PATCH_TABLES,
    *BIASES,
    *NO_POSITIONS,
    *NOT_READ,
)
#: The row of every model type.
MODEL_TYPES: Mapping[str, ModelType] = MappingProxyType({name: row for row in ROWS for name in row.names})
