"""The checks of the conformance suite by theme; how an encoding is asked, and how far answers may lie apart, is one folder up."""
