"""The course of the five source documents: questions, errata, ladder of ideas; a reader's code goes to `diagnosis`."""
