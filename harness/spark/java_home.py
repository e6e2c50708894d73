"""The JAVA_HOME that Spark and everything it starts is given; `python -m harness.spark.java_home` prints it.

Spark 4.3 adds `--add-modules=jdk.incubator.vector` to each Java that it starts, and a Java without that
module refuses to start. The module only makes some of Spark's mathematics faster, and the harness uses none.
So for such a Java a home is made whose `bin/java` drops the option.

Source: Spark's `JavaModuleOptions` and `WorkerCommandBuilder`; `bin/spark-class` goes by JAVA_HOME first.
"""

import shlex
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

from harness.targets.jars.cache import cache_directory, made_at, prepared
from harness.targets.jars.seals import check_seal, seal
from harness.targets.runtimes.java import JavaUse, find_java

_VECTOR: Final = "jdk.incubator.vector"
_LAUNCHER: Final = """#!/bin/sh
# Drops the module that Spark adds and this Java lacks; it becomes the Java, so that its process is the same.
for argument in "$@"; do
    shift
    [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""
_EXECUTABLE: Final = 0o755


def spark_java_home() -> Path:
    """Return the JAVA_HOME for Spark.

    Raises:
        TargetError: no Java suits, the cache cannot be written, or the launcher in it was changed.
    """
    java = find_java(JavaUse.SPARK).java
    if _VECTOR in java.modules:
        return java.home
    text = _LAUNCHER.format(module=_VECTOR, java=shlex.quote(str(java.home / "bin" / "java")))
    home = prepared(cache_directory()) / f"spark-java-{sha256(text.encode()).hexdigest()[:12]}-checked"
    if not home.is_dir():
        try:
            with made_at(home) as unfinished:
                launcher = unfinished / "bin" / "java"
                launcher.parent.mkdir()
                launcher.write_text(text, encoding="utf-8")
                launcher.chmod(_EXECUTABLE)
                seal(unfinished)
        except OSError:
            if not home.is_dir():  # unless another process made it first
                raise
    check_seal(home)
    return home


if __name__ == "__main__":
    sys.stdout.write(f"{spark_java_home()}\n")
