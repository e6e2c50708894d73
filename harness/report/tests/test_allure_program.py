"""Where Allure's program comes from: the cache, by npm's lock file, and nowhere else."""

import json
import os
from pathlib import Path
from typing import Final

import pytest

from harness.report.allure import pages
from harness.report.allure.pages import LOCK, render_allure
from harness.targets.jars.cache import CACHE_VARIABLE

_SAYS_ITS_NAME: Final = '#!/bin/sh\necho "$0 $*" >>"$CALLS"\n'
_NODE: Final = '#!/bin/sh\n[ "$1" = --version ] && echo v24.1.0 && exit\nexec "$@"\n'
_INSTALLS: Final = _SAYS_ITS_NAME + 'mkdir -p node_modules/.bin && cp "$ALLURE" node_modules/.bin/allure\n'
_REFUSES: Final = "#!/bin/sh\necho 'npm error code EINTEGRITY' >&2\nmkdir -p node_modules/.bin; exit 1\n"


@pytest.fixture(name="calls")
def _calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let node, npm and an Allure in the working directory be programs that only note their names."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("ALLURE", str(_program(tmp_path / "allure", _SAYS_ITS_NAME)))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    _program(tmp_path / "bin" / "node", _NODE)
    _program(tmp_path / "bin" / "npm", _INSTALLS)
    _program(tmp_path / "here" / "node_modules/.bin/allure", _SAYS_ITS_NAME)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "calls"


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_program_is_installed_from_the_lock_once_and_never_the_working_directorys(
    tmp_path: Path, calls: Path
) -> None:
    for _ in range(2):
        assert render_allure(tmp_path / "run").problem is None

    (installed,) = tmp_path.glob("cache/allure-*")
    called = [line.split()[:2] for line in calls.read_text().splitlines()]
    program = str(installed / "node_modules/.bin/allure")
    assert called == [[str(tmp_path / "bin" / "npm"), "ci"], [program, "generate"], [program, "generate"]]
    assert (installed / "package-lock.json").read_bytes() == LOCK.read_bytes()


def test_a_package_that_does_not_match_leaves_nothing_installed(tmp_path: Path, calls: Path) -> None:
    _program(tmp_path / "bin" / "npm", _REFUSES)
    pages = render_allure(tmp_path / "run")

    assert (pages.index, pages.problem) == (None, "npm ci ended with 1: npm error code EINTEGRITY")
    assert not list((tmp_path / "cache").iterdir())
    assert not calls.exists()


def test_another_lock_is_another_installation(
    tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    render_allure(tmp_path / "run")
    other = tmp_path / "package-lock.json"
    other.write_text(LOCK.read_text() + "\n")
    monkeypatch.setattr(pages, "LOCK", other)
    render_allure(tmp_path / "run")

    assert calls.exists()
    assert len(list(tmp_path.glob("cache/allure-*"))) == 2


def test_pages_load_nothing_from_elsewhere(tmp_path: Path, calls: Path) -> None:
    page = (
        "<html><head></head><body><script>ours()</script>\n"
        '<script async src="https://www.googletagmanager.com/gtag/js?id=G"></script>\n'
        "<script>\n  window.dataLayer = [];\n</script>\n<script>also()</script></body></html>"
    )
    generates = f"mkdir -p {tmp_path}/run/allure && cat > {tmp_path}/run/allure/index.html <<'E'\n{page}\nE\n"
    _program(tmp_path / "allure", _SAYS_ITS_NAME + generates)
    index = render_allure(tmp_path / "run").index

    assert calls.exists()
    assert index is not None
    made = index.read_text()
    assert "googletagmanager" not in made
    assert "dataLayer" not in made
    assert "<script>ours()</script>" in made
    assert "<script>also()</script>" in made
    assert "data-testid=test-result-meta-link" in made
    assert "default-src 'self' file: data: blob:" in made


def test_every_package_of_the_lock_has_a_sha_512_and_none_an_address() -> None:
    packages = json.loads(LOCK.read_text())["packages"]
    wanted = json.loads(LOCK.with_name("package.json").read_text())["dependencies"]

    assert packages.pop("")["dependencies"] == wanted
    assert packages["node_modules/allure"]["version"] == wanted["allure"]
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
