"""What the five source documents teach: questions, errata, ladder of ideas; a reader's code goes to `diagnosis`."""
