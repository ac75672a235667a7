"""`posenc explain FILE.gguf`: the same words as for a config, and options that are for configs alone."""

import gguf
import pytest


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_head_count(4)
    writer.add_embedding_length(64)
    writer.add_context_length(4096)
    writer.add_rope_dimension_count(16)
    writer.add_rope_freq_base(500_000.0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return str(path)


def test_the_file_is_explained(posenc, file):
    ran = posenc("explain", file)
    assert ran.code == 0
    assert "500000" in ran.out
    assert "llama" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--length", "8192"), "length must be left out for a .gguf file; got 8192. It is for configs."),
        (("--waive", "rope.new"), "waive must be keys that would go unread; got one that changes nothing for"),
    ],
)
def test_options_without_effect_are_refused(posenc, file, words, message):
    ran = posenc("explain", file, *words)
    assert ran.code == 2
    assert message in ran.err
