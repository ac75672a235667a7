// Every view, in the order of the list.

import { heatMapView } from "./heat_map_view.js";

export const VIEWS = [heatMapView];
