"""The oracle of what an encoding wraps: found when asked for, since oracles of wrappers stand among those they call."""

import oracles


def oracle(encoding):
    return oracles.ORACLES[type(encoding).__name__]


def own(params, prefix):
    """The parameters that one part calls by its own names."""
    names = [name for name in params or {} if name.split(".", 1)[0] == prefix and "." in name]
    return {name.split(".", 1)[1]: params[name] for name in names}
