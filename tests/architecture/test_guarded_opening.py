"""Files are opened through `posenc.core.plain_file`, so that no pipe is waited for and no device is read for ever."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "posenc"
#: Scripts of engines' processes, which read what posenc has just written for them.
RUNNERS = SOURCES / "engines" / "runners"
OPENING = {
    "open", "fdopen", "read_text", "read_bytes", "load", "fromfile", "loadtxt", "genfromtxt", "memmap", "safe_open",
    "load_file", "load_model",
}  # fmt: skip
#: Calls that open nothing of a user's, or whose file has been guarded: what each opens.
ALLOWED = {
    ("cli/main.py", "os.open"): "the null device",
    ("cli/main.py", "os.fdopen"): "the null device",
    ("core/plain_file.py", "open"): "the guard",
    ("core/plain_file.py", "os.open"): "the guard",
    ("core/plain_file.py", "part.open"): "a new file, to be written",
    ("diagnosis/code/child_process.py", "read_bytes"): "/proc",
    ("diagnosis/code/child_server.py", "os.open"): "the null device",
    ("diagnosis/code/child_server.py", "os.fdopen"): "the pipes of the process",
    ("models/checkpoints/stored_rows.py", "np.memmap"): "a file that plain_file has opened",
    ("probe/answers.py", "np.load"): "a file that plain_file has opened, its sizes checked first",
    ("diagnosis/compare_implementations.py", "Capture.load"): "named_arrays, which is guarded",
    ("diagnosis/named_arrays.py", "archive.open"): "an entry of an archive that plain_file has opened",
    ("kernels/triton/cos_sin_kernel.py", "tl.load"): "memory of a GPU",
    ("kernels/triton/head_block.py", "tl.load"): "memory of a GPU",
    ("kernels/triton/head_block.py", "load"): "memory of a GPU",
    ("kernels/triton/kv_cache_kernel.py", "tl.load"): "memory of a GPU",
    ("lab/engines/local.py", "os.fdopen"): "the pipes of a worker",
    ("lab/engines/local.py", "pickle.load"): "what a worker of ours has written into its pipe",
    ("engines/ask_engine.py", "np.load"): "a file that plain_file has opened",
    ("engines/cache_folder.py", "path.read_bytes"): "a file of the package",
    ("engines/engine.py", "path.read_text"): "a file of the package",
    ("engines/compare_engines.py", "answer.refusal.read_text"): "a plain file of the cache",
    ("engines/environments.py", "read_text"): "the list of an installed package's files",
    ("engines/npm_packages.py", "tarfile.open"): "a file that plain_file has opened",
    ("engines/reports.py", "REPORTS.read_text"): "a file of the package",
    ("engines/known_engines.py", "PINS.read_text"): "a file of the package",
    ("explorer/engine_answers.py", "STORED.read_text"): "a file of the package",
    ("explorer/explorer_page.py", "path.read_text"): "styles of the package",
    ("explorer/one_file.py", "path.read_text"): "modules of the package",
    ("explorer/lesson/lesson_page.py", "read_text"): "pages of the package",
    ("explorer/views/roles_view.py", "STORED.read_text"): "a file of the package",
    ("explorer/server/serve.py", "webbrowser.open"): "an address",
    ("cli/doctor.py", "Capture.load"): "diagnosis/named_arrays.py, which is guarded",
    ("lab/tasks/corpus.py", "read_text"): "lab/tokens.py, which is guarded",
    ("lab/machine.py", "status.read_text"): "/proc",
    ("lab/kept_measurements.py", "path.open"): "to append, a path whose kind has been looked at",
    ("lab/train.py", "torch.load"): "bytes that plain_file has read, weights alone",
    ("lab/store.py", "open"): "to append, a path whose kind has been looked at",
    ("lab/store.py", "os.open"): "a folder, to be synced",
    ("models/checkpoints/conversion.py", "output.open"): "a file that was just written",
    ("models/checkpoints/conversion.py", "path.open"): "a new file, to be written",
    ("models/checkpoints/conversion.py", "os.open"): "a folder, to be synced",
    ("models/config/config_classes.py", "read_text"): "a file of the package",
    ("models/released/released_models.py", "read_text"): "a file of the package",
}


def opened(source: str) -> list[str]:
    """The calls of a source that open a file, as they are written."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            written = ast.unparse(node.func)
            simple = written if written.replace(".", "").replace("_", "").isalnum() else written.rpartition(".")[2]
            if simple.rpartition(".")[2] in OPENING and not simple.startswith("plain_file."):
                found.append(simple)
    return found


def test_every_reader_of_files_goes_through_the_guard():
    calls = {
        (path.relative_to(SOURCES).as_posix(), call)
        for path in SOURCES.rglob("*.py")
        if path.parent != RUNNERS
        for call in opened(path.read_text(encoding="utf-8"))
    }
    assert sorted(calls - set(ALLOWED)) == []
    assert sorted(set(ALLOWED) - calls) == []


def test_an_unguarded_reader_is_found():
    source = "def read(path):\n    with open(path) as file:\n        return np.load(file), Path(path).read_text()"
    assert opened(source) == ["open", "np.load", "read_text"]
