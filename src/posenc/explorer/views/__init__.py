"""What each view of the explorer shows, as data: a record of what was asked for, whose `facts` are computed by posenc.

Nothing is drawn here: the modules in explorer/browser/explorer/ draw what these records answer.
"""

from posenc.explorer.views.cell import Cell
from posenc.explorer.views.table import Table
from posenc.explorer.views.view import View

#: Every view by the name that the page asks for it.
VIEWS: dict[str, type[View]] = {"table": Table, "cell": Cell}

__all__ = ["VIEWS", "View"]
