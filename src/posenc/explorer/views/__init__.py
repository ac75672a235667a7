"""What each view of the explorer shows, as data.

A encoding of what was asked for, whose `facts` are computed by posenc.

Nothing is drawn here: the modules in explorer/browser/explorer/ draw what these encodings answer.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
