// Every view, in the order of the list.

import { claimsView } from "./claims_view.js";
import { compareView } from "./compare_view.js";
import { configView } from "./config_view.js";
import { curvesView } from "./curves_view.js";
import { distanceView } from "./distance_view.js";
import { finderView } from "./finder_view.js";
import { headsView } from "./heads_view.js";
import { heatMapView } from "./heat_map_view.js";
import { mediaView } from "./media_view.js";
import { orderView } from "./order_view.js";
import { resultsView } from "./results_view.js";
import { rolesView } from "./roles_view.js";
import { scalingsView } from "./scalings_view.js";
import { wavelengthsView } from "./wavelengths_view.js";

export const VIEWS = [
  heatMapView,
  curvesView,
  wavelengthsView,
  distanceView,
  headsView,
  scalingsView,
  orderView,
  finderView,
  mediaView,
  configView,
  compareView,
  claimsView,
  rolesView,
  resultsView,
];
