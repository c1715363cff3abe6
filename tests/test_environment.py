"""pyproject.toml, environment.yml, requirements.txt and the Makefile say the same."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
BOOK_LOCK = (ROOT / "requirements.txt").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
EXTRAS = re.search(r"^LOCK_EXTRAS = (.*)$", MAKEFILE, re.MULTILINE).group(1).split()
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
BLOCKS = [b for b in re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE) if "==" in b]
TARGETS = set(re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE))
PROJECT = PYPROJECT["project"]
ASKED = [line for extra in EXTRAS for line in PROJECT["optional-dependencies"][extra]]
DIRECT = [Requirement(line) for line in (*PROJECT["dependencies"], *ASKED)]


def test_the_book_s_own_lock_is_a_part_of_the_whole_one_without_what_only_tests_need():
    pins = set(re.findall(r"^[A-Za-z0-9._-]+==\S+", BOOK_LOCK, re.MULTILINE))
    assert pins <= set(re.findall(r"^[A-Za-z0-9._-]+==\S+", LOCK, re.MULTILINE))
    names = {canonicalize_name(Requirement(pin).name) for pin in pins}
    assert names >= {"jupyter-book", "papermill", "opendp", "matplotlib"}
    assert not names & {"playwright", "mypy", "distributed", "pytest", "hypothesis", "ruff"}


@pytest.mark.parametrize("python", PYTHONS)
def test_lock_pins_every_direct_dependency_within_its_limits(python):
    values = {"python_version": python, "python_full_version": f"{python}.9"}
    pins = {}
    for line in re.findall(r"^([A-Za-z0-9].*?)\s*\\$", LOCK, re.MULTILINE):
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(values):
            name = canonicalize_name(requirement.name)
            assert name not in pins, f"{name} is pinned twice for Python {python}"
            pins[name] = next(iter(requirement.specifier)).version
    assert len(pins) > 100
    for requirement in DIRECT:
        name = canonicalize_name(requirement.name)
        assert name in pins, f"{name} is not in requirements-dev.txt: run make lock"
        assert requirement.specifier.contains(pins[name], prereleases=True), (name, pins[name])


def test_lock_was_made_from_exactly_these_dependencies_with_hashes():
    made_for = [block.split("==")[0] for block in BLOCKS if "(pyproject.toml)" in block]
    assert {*map(canonicalize_name, made_for)} == {canonicalize_name(r.name) for r in DIRECT}
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in BLOCKS)


def test_conda_has_the_same_python_and_the_lock():
    python = next(d for d in CONDA if str(d).startswith("python "))
    least = PROJECT["requires-python"].removeprefix(">=")
    assert python == f"python >={least},<3.15"
    assert least == PYTHONS[0] == PYPROJECT["tool"]["mypy"]["python_version"]
    assert "((3, 11) <= sys.version_info < (3, 15))" in MAKEFILE
    assert [d.split()[0] for d in CONDA if isinstance(d, str)] == ["python", "pip", "make"]
    assert [d["pip"] for d in CONDA if isinstance(d, dict)] == [["-r requirements.txt"]]


def test_no_file_names_a_registry_and_hooks_fetch_nothing():
    address = r"https?://(?!localhost)|--(extra-)?index-url|--find-links|--trusted-host|@ file"
    names = ("pyproject.toml", "environment.yml", "Makefile", ".ci/run")
    for name in (*names, "requirements.txt", "requirements-dev.txt"):
        assert not re.search(address, (ROOT / name).read_text(encoding="utf-8")), name
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [r["repo"] for r in hooks] == ["local"]
    assert {h["language"] for r in hooks for h in r["hooks"]} == {"system"}


def test_documents_lead_to_files_and_targets_that_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", readme)
    assert "docs/main-result.svg" in links
    assert [link for link in links if not (ROOT / link).is_file()] == []
    assert set(re.findall(r"make ([a-z-]+)", readme)) <= TARGETS
    assert set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE)) == TARGETS  # make help
    for name in ("docs/architecture.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.(?:py|md|toml)|/))`", text))
        homes = (ROOT, ROOT / "src" / "microdata_price")
        assert [n for n in sorted(named) if not any((h / n).exists() for h in homes)] == [], name


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        ("book EPSILN=0.25", 2, "does not read EPSILN; it reads DELTA EPSILON"),
        ("test epsilon=0.25", 2, "does not read epsilon"),
        ("grid DELTA=1e-6", 2, "does not read DELTA"),
        ("book SOLUTIONS=No", 2, "SOLUTIONS is No; it can be yes or no"),
        ("book STUDENTS=true", 2, "STUDENTS is true; it can be yes or no"),
        ("book SOLUTIONS=no EPSILON=0.25", 0, "book --epsilon '0.25' --no-solutions"),
        ("book STUDENTS=yes OUT=x", 0, "book --with-students --out 'x'"),
        ("grid OUT=x RUNS=5", 0, "grid --out 'x' --runs '5'"),
        *(("grid", 0, "grid --out 'results/grid'"), ("fuzz SEED=3", 0, "seed=3")),
        ("serve PORT=80", 0, "_build/html 80"),
    ],
)
def test_make_passes_on_what_it_reads_and_refuses_the_rest(given, status, says):
    command = [shutil.which("make") or "make", "-n", "-C", str(ROOT), *given.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert says in " ".join((done.stderr if status else done.stdout).split())
