"""The views of the explorer as data: each is a dataclass of a question, whose `facts` posenc computes.

Nothing is drawn here: the modules in explorer/browser/explorer/ draw what the views answer.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
