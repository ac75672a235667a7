"""Small transformers that show what each encoding does to a model.

`experiment` names a run, `trial.run` trains and measures it, `engines` does several at once in worker processes or on
a cluster, and `comparison` judges the results. `tour_plan` names the runs of `posenc tour`. Equal encodings give equal
numbers. The encodings themselves live in `posenc.encodings`.
"""
