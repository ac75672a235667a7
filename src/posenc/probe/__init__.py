"""Probe checkpoints: tiny models whose logits show which positions an engine applies.

`write_probe` writes one for a config; any engine runs its prompts; `read_probe` reads the engine's positions off the
logits, and names the mistake where they are not those of the config.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
