"""Modules: an encoding and its parameters, for each door; input layers and tables."""
