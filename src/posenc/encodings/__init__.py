"""Every encoding, one file each, in the folder of its door; encodings that wrap others live in `compose`."""
