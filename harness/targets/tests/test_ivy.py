"""What Ivy is asked and what it prints."""

import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest

from harness.targets.base.interface import TargetError
from harness.targets.jars import resolved
from harness.targets.jars.ivy import (
    Coordinates,
    IvyReport,
    ivy_jar,
    ivy_module,
    parse_ivy_report,
    proxy_options,
)

_TOOLS_API = Coordinates(organisation="org.apache.kafka", module="kafka-tools-api", revision="4.4.0")

_INCOMPLETE = """\
:: resolving dependencies :: kafka-conformance#broker;working@vm
\tconfs: [default]
\tfound org.apache.kafka#kafka_2.13;4.4.0 in public
\t[4.4.0] org.apache.kafka#kafka_2.13;latest.release
:: problems summary ::
:::: WARNINGS
\t\tmodule not found: org.apache.kafka#kafka-tools-api;4.4.0

\t==== public: tried

\t  -- artifact org.apache.kafka#kafka-tools-api;4.4.0!kafka-tools-api.jar:

\t\t::::::::::::::::::::::::::::::::::::::::::::::

\t\t::          UNRESOLVED DEPENDENCIES         ::

\t\t::::::::::::::::::::::::::::::::::::::::::::::

\t\t:: org.apache.kafka#kafka-tools-api;4.4.0: not found

\t\t::::::::::::::::::::::::::::::::::::::::::::::
"""

_UNREACHABLE = """\
\t\t:: org.apache.kafka#kafka_2.13;3.9.2: not found

:::: ERRORS
\tServer access error at url https://repository.example/kafka.pom (java.net.ConnectException: refused)
"""

_NO_DOWNLOAD = """\
\t\t::              FAILED DOWNLOADS            ::

\t\t:: ^ see resolution messages for details  ^ ::

\t\t:: org.apache.kafka#kafka-raft;4.4.0!kafka-raft.jar
"""


def test_a_module_that_was_not_found_is_named() -> None:
    report = parse_ivy_report(_INCOMPLETE, exit_status=1)

    assert report.missing == (_TOOLS_API,)
    assert not report.succeeded
    assert not report.is_unreachable


def test_a_jar_that_could_not_be_downloaded_is_named() -> None:
    report = parse_ivy_report(_NO_DOWNLOAD, exit_status=0)

    assert [str(module) for module in report.missing] == ["org.apache.kafka:kafka-raft:4.4.0"]
    assert not report.succeeded


def test_a_repository_that_does_not_answer_is_reported_from_a_module_that_is_not_there() -> None:
    assert parse_ivy_report(_UNREACHABLE, exit_status=1).is_unreachable


def test_the_version_chosen_for_a_range_is_read() -> None:
    assert parse_ivy_report(_INCOMPLETE, exit_status=1).revisions == {"kafka_2.13": "4.4.0"}


def test_a_complete_resolution_succeeds() -> None:
    report = parse_ivy_report("45 artifacts copied, 0 already retrieved", exit_status=0)

    assert report.succeeded
    assert report.missing == ()


def test_the_module_file_asks_for_what_is_wanted_and_leaves_out_what_is_excluded() -> None:
    kafka = Coordinates(organisation="org.apache.kafka", module="kafka_2.13", revision="(,4.4.0[")
    module = ET.fromstring(ivy_module([kafka], excluded=[_TOOLS_API]))

    assert [dependency.get("rev") for dependency in module.iter("dependency")] == ["(,4.4.0["]
    assert [exclude.get("module") for exclude in module.iter("exclude")] == ["kafka-tools-api"]


def test_what_asks_for_other_jars_has_another_name_so_that_ivy_keeps_its_resolutions_apart() -> None:
    def asking(*modules: Coordinates, excluded: tuple[Coordinates, ...] = ()) -> str | None:
        info = ET.fromstring(ivy_module(modules, excluded=excluded)).find("info")
        assert info is not None
        return info.get("module")

    older, newer, newest = (
        Coordinates(organisation="org.apache.kafka", module="kafka_2.13", revision=revision)
        for revision in ("3.0.0", "3.1.0", "(,4.4.0[")
    )
    names = [asking(older), asking(newer), asking(newest), asking(newer, excluded=(_TOOLS_API,))]
    assert len(set(names)) == len(names)


def test_a_proxy_of_the_environment_is_reported_to_java() -> None:
    environment = {"https_proxy": "http://proxy.example:3128", "HTTP_PROXY": "proxy.example"}

    assert proxy_options(environment) == [
        "-Dhttp.proxyHost=proxy.example",
        "-Dhttp.proxyPort=80",
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
    ]
    assert proxy_options({}) == []


def test_hosts_that_want_no_proxy_are_reported_to_java() -> None:
    assert proxy_options({"no_proxy": "maven.example, .intra.example"}) == [
        "-Dhttp.nonProxyHosts=maven.example|*.intra.example|localhost|127.*|[::1]"
    ]


def test_pyspark_ships_an_ivy() -> None:
    jar = ivy_jar()

    assert jar is not None
    assert jar.is_file()


def test_an_archive_of_pyspark_before_it_hides_no_ivy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "pyspark.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("pyspark/__init__.py", "")
    installed = ivy_jar()

    # As Spark's executors have it for what they start.
    monkeypatch.syspath_prepend(str(archive))

    assert ivy_jar() == installed


def _report(*missing: str, is_unreachable: bool = False) -> IvyReport:
    modules = tuple(
        Coordinates(organisation="org.apache.kafka", module=module, revision="4.4.0") for module in missing
    )
    return IvyReport(succeeded=False, missing=modules, is_unreachable=is_unreachable, revisions={})


def test_only_a_module_known_to_be_dispensable_is_done_without() -> None:
    assert resolved._all_dispensable(_report("kafka-tools-api"))
    assert not resolved._all_dispensable(_report("kafka-tools-api", "kafka-raft"))
    assert not resolved._all_dispensable(_report())
    assert not resolved._all_dispensable(_report("kafka-tools-api", is_unreachable=True))


@pytest.mark.parametrize(
    ("report", "reported"),
    [
        (_report("kafka_2.13"), "there is no Kafka 4.4.0"),
        (_report("kafka_2.13", is_unreachable=True), "the jars of Kafka 4.4.0 are not in the cache"),
        (
            _report("kafka_2.13", is_unreachable=True),
            "in the cache: kafka:2.8.2, kafka:3.9.2. Go online once",
        ),
        (_report("kafka-raft"), "org.apache.kafka:kafka-raft:4.4.0"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_to_do(report: IvyReport, reported: str) -> None:
    refusal = resolved._refusal("4.4.0", report, Path("ivy.log"), ["2.8.2", "3.9.2"])

    assert isinstance(refusal, TargetError)
    assert reported in str(refusal)


def test_versions_in_the_cache_are_those_that_were_completed_oldest_first(tmp_path: Path) -> None:
    for version in ("3.10.0", "3.9.2", "4.4.0"):
        (tmp_path / version).mkdir()
    for version in ("3.10.0", "3.9.2"):
        (tmp_path / version / "resolved.json").touch()

    assert resolved.cached_versions(tmp_path) == ("3.9.2", "3.10.0")
