"""Every encoding, one file each, in the folder of its door; records that wrap others live in `compose`."""
