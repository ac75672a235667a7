"""What a release consists of agrees with the code: versions, the README of an index, licences, workflows."""

from __future__ import annotations

import io
import re
import shlex
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import make_distributions
import posenc
import readme_examples
import try_distributions
import write_licences

ROOT = Path(__file__).parents[2]
META = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
KERNELS = tomllib.loads((ROOT / "native" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def test_every_file_states_the_same_version():
    inside = (ROOT / "native" / "posenc_kernels" / "__init__.py").read_text(encoding="utf-8")
    stated = re.findall(r'__version__ = "(.*)"', inside)
    assert {posenc.__version__} == {KERNELS["version"], CITATION["version"], *stated}
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == posenc.__version__


def test_both_distributions_have_one_licence():
    assert (ROOT / "LICENSE").read_bytes() == (ROOT / "native" / "LICENSE").read_bytes()
    assert {META["project"]["license"], KERNELS["license"], CITATION["license"]} == {"Apache-2.0"}


def test_addresses_are_placeholders_that_cannot_exist():
    addresses = [*META["project"]["urls"].values(), *KERNELS["urls"].values(), CITATION["repository-code"]]
    assert {re.match(r"https://([^/]+)/", each)[1] for each in addresses} == {"example.invalid"}


def described(text: str) -> str:
    """The README as the build writes it for an index."""
    for each in META["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    return text


def test_no_link_of_the_readme_is_broken_on_an_index():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert try_distributions.links_of_no_address(text)
    assert not try_distributions.links_of_no_address(described(text))
    kept = "[a](https://example.invalid/a) ![](https://example.invalid/b.png)"
    assert described(f"{kept} [![c](c.png)<br>C](c.md) [d\ne](e.md#f)") == f"{kept} C d\ne"


def test_the_page_of_licences_names_every_dependency():
    text = write_licences.PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"^\| \*\*(.+?)\*\* \|", text, re.MULTILINE))
    assert named == write_licences.asked_for().keys()
    rows = re.findall(r"^\| (?!package|---)(.*) \|$", text, re.MULTILINE)
    assert all(all(cell.strip() for cell in row.split(" | ")) for row in rows)
    assert len(rows) >= len(named)


def test_a_package_without_a_licence_is_named():
    class Silent:
        metadata = type("Metadata", (dict,), {"get_all": lambda self, name: None})(Name="silent")

    with pytest.raises(ValueError, match="silent says nothing of its licence"):
        write_licences.licence(Silent())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_of_make_and_pinned_actions(path: Path):
    text = path.read_text(encoding="utf-8")
    assert "never run" in text.splitlines()[0]
    flow = yaml.safe_load(text)
    assert flow["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for job in flow["jobs"].values():
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])
            else:
                command, target, *rest = shlex.split(step["run"])
                assert (command, target in targets, rest) == ("make", True, ["PYTHON=python"]), step


def test_workflows_cover_every_python_and_system():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))["jobs"]
    listed = {each.rpartition(" ")[2] for each in META["project"]["classifiers"] if "Python :: 3." in each}
    assert {tuple(job["strategy"]["matrix"]["python"]) for job in jobs.values()} == {tuple(PYTHONS)}
    assert listed == set(PYTHONS) == {name.removeprefix("python") for name in try_distributions.PYTHONS}
    systems = [jobs["everything"]["runs-on"], *jobs["numpy"]["strategy"]["matrix"]["system"]]
    assert [each.partition("-")[0] for each in systems] == ["ubuntu", "macos", "windows"]


def test_a_wheel_that_lacks_or_adds_files_is_named(tmp_path):
    path, folder = tmp_path / "a-1-py3-none-any.whl", "a-1.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for name in ("a/__init__.py", "tests/test_a.py", f"{folder}/WHEEL", f"{folder}/RECORD"):
            wheel.writestr(name, "")
        wheel.writestr(f"{folder}/METADATA", "Name: a\n\n[b](docs/b.md) [c](https://example.invalid/c)")
    assert try_distributions.faults_of_wheel(path, {"a/__init__.py", "a/py.typed"}, set()) == [
        f"{path.name} lacks {folder}/licenses/LICENSE",
        f"{path.name} lacks a/py.typed",
        f"{path.name} must not hold tests/test_a.py",
        f"{path.name}: its description has the link ](docs/b.md)",
    ]


def test_a_source_distribution_written_again_keeps_only_its_files(tmp_path):
    held = {"a-1/b.py": b"b", "a-1/a.py": b"a"}
    for name, time in (("one.tar.gz", 10), ("two.tar.gz", 20)):
        with tarfile.open(tmp_path / name, "w:gz") as old:
            for path, content in held.items():
                member = tarfile.TarInfo(path)
                member.size, member.mtime, member.uname = len(content), time, name
                old.addfile(member, io.BytesIO(content))
        make_distributions.rewrite_source(tmp_path / name, 5)
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "one.tar.gz") as new:
        assert {name: new.extractfile(name).read() for name in new.getnames()} == held


def test_examples_that_name_a_library_are_left_out(tmp_path, capsys):
    page = tmp_path / "README.md"
    page.write_text("```python\n>>> 1 + 1\n2\n\n```\n```python\n>>> import torch\n\n```\n")
    assert readme_examples.main(str(page), "torch") == 0
    assert "1 blocks, 1 examples, 0 failed" in capsys.readouterr().out
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n")
    assert readme_examples.main(str(page), "torch") == 1
    page.write_text("nothing")
    assert readme_examples.main(str(page), "torch") == 1
