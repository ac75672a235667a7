"""`posenc diff` names the keys of the files, and not only what posenc makes of them."""

from __future__ import annotations

import json

OPT = {"model_type": "opt", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}


def test_diff_names_the_keys_of_both_files(posenc, tmp_path):
    paths = []
    for length in (2048, 1024):
        folder = tmp_path / str(length)
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(OPT | {"max_position_embeddings": length}))
        paths.append(str(folder))
    assert "in the files: max_position_embeddings is 2048 and 1024" in posenc("diff", *paths).out
    assert posenc("diff", *paths, "--json").data["keys_that_differ"] == {"max_position_embeddings": [2048, 1024]}
    assert "in the files" not in posenc("diff", paths[0], paths[0]).out
