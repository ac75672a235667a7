"""Every encoding, a file each; `posenc.catalog` lists them."""
