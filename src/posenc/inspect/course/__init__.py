"""What the five source documents teach: their questions, errata, ladder of ideas and the search for a position; code is examined in `diagnosis`."""
