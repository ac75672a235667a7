"""What every encoding is built on: arrays, checked arguments, the four doors, rotations. Imports nothing above it."""
