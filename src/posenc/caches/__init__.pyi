"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .key_cache import KeyCache as KeyCache
from .key_cache import key_cache as key_cache
from .key_cache import rotation_fingerprint as rotation_fingerprint
from .paged_cache import PagedCache as PagedCache
from .pinned_length import pin_length as pin_length
from .pinned_length import pinned_length as pinned_length
from .quantised_cache import QuantisationError as QuantisationError
from .quantised_cache import QuantisedCache as QuantisedCache
from .quantised_cache import quantisation_error as quantisation_error
from .quantised_cache import quantised_cache as quantised_cache
from .quantised_tensor import QuantisedTensor as QuantisedTensor
from .quantised_tensor import quantised as quantised
from .rerotation import evicted as evicted
from .rerotation import rerotated as rerotated
from .rerotation import reused as reused
from .rerotation import shifted_keys as shifted_keys
from .rerotation_error import RerotationError as RerotationError
from .rerotation_error import rerotation_error as rerotation_error
