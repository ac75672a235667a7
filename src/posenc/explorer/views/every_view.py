"""Every view, by the name that the page asks for it."""

from posenc.explorer.views.cell_view import CellView
from posenc.explorer.views.claims_view import ClaimsView
from posenc.explorer.views.compare_view import CompareView
from posenc.explorer.views.config_view import ConfigView
from posenc.explorer.views.distance_view import DistanceView
from posenc.explorer.views.finder_view import FinderView
from posenc.explorer.views.heads_view import HeadsView
from posenc.explorer.views.media_view import MediaView
from posenc.explorer.views.order_view import OrderView
from posenc.explorer.views.roles_view import RolesView
from posenc.explorer.views.scalings_view import ScalingsView
from posenc.explorer.views.spectrum_view import SpectrumView
from posenc.explorer.views.table_view import TableView
from posenc.explorer.views.view import View

#: Every view by the name that the page asks for it.
VIEWS: dict[str, type[View]] = {
    "table": TableView,
    "cell": CellView,
    "spectrum": SpectrumView,
    "distance": DistanceView,
    "scalings": ScalingsView,
    "heads": HeadsView,
    "order": OrderView,
    "finder": FinderView,
    "config": ConfigView,
    "compare": CompareView,
    "media": MediaView,
    "claims": ClaimsView,
    "roles": RolesView,
}
