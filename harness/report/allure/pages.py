"""Allure's own pages, rendered from the results by Allure's program if Node can run it.

npm installs the program into the cache from the lock file in `npm`, which has the SHA-512 of every package.
Programs in the working directory are never run, because they are not trusted. A run never fails for lack of
Allure: any error here is reported as the reason why its pages are missing.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.report.allure.history import HISTORY, LATER_HISTORY
from harness.report.allure.terms import allure_categories
from harness.targets.base.interface import TargetError
from harness.targets.jars.cache import cache_directory, made_at
from harness.targets.runtimes.node import Node, find_node, node_environment

LOCK: Final = Path(__file__).with_name("npm") / "package-lock.json"
"""The lock file of npm; `make allure-lock` regenerates it."""
_PACKAGE: Final = LOCK.with_name("package.json")
_ALLURE: Final = "node_modules/.bin/allure"
_ANALYTICS: Final = re.compile(
    r"<script[^>]*googletagmanager[^>]*></script>\s*<script>\s*window\.dataLayer.*?</script>", re.DOTALL
)
_POLICY: Final = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'self\' file: data: blob: '
    "'unsafe-inline' 'unsafe-eval'\">"
)
"""Allure's pages may only load what is beside them or within them."""
_LINKS: Final = """<script>
      document.addEventListener("click", (event) => {
        const link = event.target.closest?.("[data-testid=test-result-meta-link]");
        const page = link?.textContent.match(/scenarios\\/[^\\s/]+$/);
        if (page) open(`../${page[0]}`, "_blank", "noopener");
      });
    </script>
    <style>[data-testid=test-result-meta-link] { cursor: pointer; }</style>"""
"""Opens the page that is named in a link's text."""
INSTALL_TIMEOUT_S: Final = 120.0
GENERATE_TIMEOUT_S: Final = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AllurePages:
    """The index of Allure's pages, or the reason why there are none."""

    index: Path | None
    problem: str | None


class _UnavailableError(Exception):
    """Allure's program is not available or failed; the message says why."""


def render_allure(run_dir: Path) -> AllurePages:
    """Render pages of a run's Allure results, which must have been written before."""
    pages = run_dir / "allure"
    try:
        command = _program()
        shutil.rmtree(pages, ignore_errors=True)
        results = run_dir / "allure-results"
        with TemporaryDirectory(prefix="allure-") as scratch:
            config = Path(scratch) / "allurerc.json"
            config.write_text(json.dumps(_config(run_dir, pages)), encoding="utf-8")
            arguments = ("generate", str(results.absolute()), "--config", str(config))
            _call("allure generate", (*command, *arguments), cwd=Path(scratch), timeout_s=GENERATE_TIMEOUT_S)
        for page in pages.rglob("*.html"):
            page.write_text(_completed(page.read_text(encoding="utf-8")), encoding="utf-8")
    except (_UnavailableError, TargetError) as reason:
        return AllurePages(index=None, problem=str(reason))
    return AllurePages(index=pages / "index.html", problem=None)


def _completed(page: str) -> str:
    """Return a page that contacts no other host, and whose links lead to our pages.

    Allure has no option to leave out its analytics, and it shows relative links as text.
    """
    page = _ANALYTICS.sub("", page).replace("<head>", f"<head>\n    {_POLICY}", 1)
    return page.replace("</body>", f"    {_LINKS}\n</body>", 1)


def _config(run_dir: Path, pages: Path) -> dict[str, object]:
    """Return the configuration of Allure 3 for what Allure 2 reads from the results' folder."""
    return {
        "name": f"Group coordinator conformance, run {run_dir.resolve().name}",
        "output": str(pages.absolute()),
        "categories": allure_categories(),
        "historyPath": str((run_dir / "allure-results" / HISTORY / LATER_HISTORY).absolute()),
        "appendHistory": False,
    }


def _program() -> tuple[Path, Path]:
    """Return Node, and Allure's program from the cache; npm installs it there first if it is missing."""
    node = find_node()
    installed = cache_directory() / f"allure-{sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    if not (installed / _ALLURE).is_file():
        _install(node, installed)
    return node.program, (installed / _ALLURE).resolve()


def _install(node: Node, installed: Path) -> None:
    """Install everything that the lock file names, or nothing."""
    flags = ("--ignore-scripts", "--no-audit", "--no-fund")
    try:
        installed.parent.mkdir(parents=True, exist_ok=True)
        with made_at(installed) as work:
            for file in (LOCK, _PACKAGE):
                shutil.copy(file, work)
            _call("npm ci", (*node.npm, "ci", *flags), cwd=work, timeout_s=INSTALL_TIMEOUT_S)
    except OSError as error:
        if not installed.is_dir():  # unless another process installed it first
            raise _UnavailableError(f"Allure cannot be installed into {installed}: {error}") from error


def _call(name: str, command: Sequence[str | Path], *, cwd: Path, timeout_s: float) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - a program of ours or of the user's PATH, and no shell
            command,
            cwd=cwd,
            env=node_environment(),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _UnavailableError(f"{name} did not end within {timeout_s:.0f} s") from error
    except OSError as error:
        raise _UnavailableError(f"{name} cannot be started: {error}") from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise _UnavailableError(f"{name} ended with {done.returncode}: {' '.join(last)}")
