"""What the source documents say about encodings, statement by statement, each with how it is decided and the verdict.

Each statement is a file with a `CLAIM`; `claim_catalog.NAMES` lists them. `findings/` holds what came out, a file for
each.
"""
