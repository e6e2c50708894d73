"""The JAVA_HOME for Spark: the Java itself, or a launcher where it lacks a module that Spark adds."""

import subprocess
from pathlib import Path

import pytest

from harness.spark.java_home import spark_java_home
from harness.targets.jars.cache import CACHE_VARIABLE
from harness.tests.fake_java import ALL_MODULES, fake_java

ADDED = "--add-modules=jdk.incubator.vector"


def test_a_java_that_has_every_module_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path / "jdk", modules={*ALL_MODULES, "jdk.incubator.vector"})
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert spark_java_home() == tmp_path / "jdk"


def test_a_java_without_the_module_is_started_without_the_option_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    fake_java(tmp_path / "the jdk", otherwise='for each in "$$" "$@"; do echo "$each"; done')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "the jdk"))
    home = spark_java_home()
    assert home == spark_java_home()

    arguments = ["-cp", "a b:$c", ADDED, "-Dx=y z", "Main", "", "--add-modules=other"]
    with subprocess.Popen([home / "bin" / "java", *arguments], stdout=subprocess.PIPE, text=True) as started:
        said = started.communicate()[0].split("\n")
    assert said == [str(started.pid), *(each for each in arguments if each != ADDED), ""]
