"""Small transformers that show what each encoding does to a model; the encodings live in `encodings`.

A run is named by a `Candidate` (which encoding) and a `TrainingRecipe` (everything else); `trial` trains and measures
it, `engines.local.run` does several at once in worker processes. Equal encodings give equal numbers.
"""
