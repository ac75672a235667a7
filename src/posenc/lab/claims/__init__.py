"""Claims of the source documents about encodings, each with how it is decided and the verdict.

The claims lie in a file for each theme, `claims_on_*.py`; `claim_catalog.NAMES` lists them. `findings.json` holds what
came out.
"""
