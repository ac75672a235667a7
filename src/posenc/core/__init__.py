"""Base of every encoding: arrays, checked arguments, the four doors, rotations. Imports no other room."""
