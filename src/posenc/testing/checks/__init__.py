"""The checks of the conformance suite, by theme; how they probe an encoding, and tolerances, are one folder up."""
