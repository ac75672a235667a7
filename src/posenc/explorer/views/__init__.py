"""What each view of the explorer shows, as data: a record of what was asked for, whose `facts` are computed by posenc.

Nothing is drawn here: the modules in explorer/browser/explorer/ draw what these records answer.
"""

from posenc.explorer.views.by_distance import ByDistance
from posenc.explorer.views.cell import Cell
from posenc.explorer.views.claims import ClaimsView
from posenc.explorer.views.compare import CompareView
from posenc.explorer.views.config import ConfigView
from posenc.explorer.views.finder import FinderView
from posenc.explorer.views.heads import HeadsView
from posenc.explorer.views.media import MediaView
from posenc.explorer.views.order import OrderView
from posenc.explorer.views.scalings import ScalingsView
from posenc.explorer.views.spectrum import SpectrumView
from posenc.explorer.views.table import Table
from posenc.explorer.views.view import View

#: Every view by the name that the page asks for it.
VIEWS: dict[str, type[View]] = {
    "table": Table,
    "cell": Cell,
    "spectrum": SpectrumView,
    "distance": ByDistance,
    "scalings": ScalingsView,
    "heads": HeadsView,
    "order": OrderView,
    "finder": FinderView,
    "config": ConfigView,
    "compare": CompareView,
    "media": MediaView,
    "claims": ClaimsView,
}

__all__ = ["VIEWS", "View"]
