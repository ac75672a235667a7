"""Rows of the catalog by family, where a family has many; `posenc.catalog` joins them."""
