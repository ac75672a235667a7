"""Packages of npm: pinned, unpacked without what is for other platforms, and one line where anything goes wrong."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from engines.fake_engines import GOOD, fake_engine
from posenc.engines.engine import Engine, Package
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.environments import environment_of
from posenc.engines.npm_packages import PLATFORMS, unpack_npm

PACKAGE = Package("@scope/engine", "1.0", 100, {"scope-engine-1.0.tgz": "0" * 64}, registry="npm")


def archive(**files: str) -> bytes:
    """A package as npm serves it."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return held.getvalue()


def engine_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, npm: str, package: Package = PACKAGE) -> Engine:
    """An engine whose package npm, a script here, is to download."""
    script = tmp_path / "bin" / "npm"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nimport pathlib, sys\n{npm}\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    return replace(fake_engine(tmp_path, "new", GOOD), packages=(package,), reuse=False, programs=("npm",))


def made(engine: Engine, cache: Path) -> Path:
    site = environment_of(engine, cache, threading.Event(), lambda *_: None).site
    assert site is not None
    return site


def downloading(file: Path) -> str:
    return f"""
place = pathlib.Path(sys.argv[sys.argv.index("--pack-destination") + 1])
(place / "scope-engine-1.0.tgz").write_bytes(pathlib.Path({str(file)!r}).read_bytes())
"""


@pytest.mark.skipif(os.name != "posix", reason="npm is a shell script here")
def test_a_pinned_package_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = min(PLATFORMS - {sys.platform})
    file = tmp_path / "file.tgz"
    file.write_bytes(archive(**{"dist/a.js": "1", f"bin/{sys.platform}/b": "2", f"bin/{other}/c": "3"}))
    pinned = replace(PACKAGE, hashes={"scope-engine-1.0.tgz": hashlib.sha256(file.read_bytes()).hexdigest()})
    site = made(engine_from(tmp_path, monkeypatch, downloading(file), pinned), tmp_path / "cache")
    folder = site / "node_modules" / "@scope" / "engine"
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert found == [f"bin/{sys.platform}/b", "dist/a.js"]


@pytest.mark.skipif(os.name != "posix", reason="npm is a shell script here")
@pytest.mark.parametrize(
    ("npm", "says"),
    [
        (
            'sys.exit("npm error code X\\nnpm error notarget No matching version found\\nnpm error Log: no")',
            "it ended with code 1: npm error notarget No matching version found",
        ),
        (
            'sys.exit("npm error code ECONNREFUSED\\nnpm error FetchError: request failed\\nnpm error Log files: no")',
            "it ended with code 1: npm error FetchError: request failed",
        ),
        ("OTHER", "scope-engine-1.0.tgz has another SHA-256 than pinned"),
    ],
    ids=["no such version", "no network", "other hash"],
)
def test_a_download_that_fails_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, npm: str, says: str
) -> None:
    file = tmp_path / "file.tgz"
    file.write_bytes(archive(a="1"))
    engine = engine_from(tmp_path, monkeypatch, npm.replace("OTHER", downloading(file)))
    with pytest.raises(EngineFailure) as failure:
        made(engine, tmp_path / "cache")
    assert str(failure.value) == f"downloading @scope/engine 1.0: {says}"
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    engine = replace(fake_engine(tmp_path, "new", GOOD), programs=("a-program-that-nobody-has",))
    with pytest.raises(EngineFailure, match=r"a-program-that-nobody-has is not installed here; install Node\.js"):
        environment_of(engine, tmp_path / "cache", threading.Event(), lambda *_: None)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (archive(**{"../../a": "1"}), "outside: package/../../a"),
        (b"text", "damaged"),
        (archive(a="text" * 1000)[:60], "damaged"),
    ],
    ids=["outside", "no archive", "broken off"],  # an archive holds its time, and every worker must find the same names
)
def test_a_file_that_is_no_package_writes_nothing_outside(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "file.tgz"
    file.write_bytes(content)
    with pytest.raises(EngineFailure, match=says):
        unpack_npm(file, tmp_path / "site" / "node_modules")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["file.tgz"]
