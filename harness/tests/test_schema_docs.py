"""The published JSON Schemas: what the harness writes obeys them, and what it never writes does not."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from harness.cli.generated_docs import SCHEMAS, schema_file, schemas_page
from harness.scenario.script import script_to_json
from harness.tests.completed_runs import catalogue
from harness.tests.json_schema import complaints
from harness.tests.made_events import ANSWER, DIFFERENCE, FOOTER, JUDGEMENT, RUN
from harness.tests.spark_records import KAFKA
from harness.trace.schema import to_content

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SCRIPT = "classic/heartbeat/before-assignments"


def schema(name: str) -> Mapping[str, Any]:
    return SCHEMAS[name][0]()


def as_written(script_id: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(script_to_json(catalogue()[script_id])))
    return content


@pytest.mark.slow
def test_every_script_of_the_suites_obeys_its_schema() -> None:
    written = {name: as_written(name) for name in catalogue()}
    # Many scripts have the same steps: each is looked at once, in a script that has them all.
    steps = {json.dumps({**step, "text": ""}): step for each in written.values() for step in each["steps"]}
    scripts = {name: {**each, "steps": []} for name, each in written.items()}
    scripts["all steps"] = {**written[SCRIPT], "steps": list(steps.values())}
    of_script = schema("script")
    found = {name: complaints(script, of_script) for name, script in scripts.items()}

    assert len(steps) > 5_000
    assert {name: reported for name, reported in found.items() if reported} == {}


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda script: script.pop("source"), id="a key is missing"),
        pytest.param(lambda script: script.update(rating=5), id="a key is unknown"),
        pytest.param(lambda script: script["steps"][0].update(step="Shout"), id="no such step"),
        pytest.param(lambda script: script["steps"][0].pop("text"), id="a step without words"),
        pytest.param(lambda script: script["steps"][0].update(within="soon"), id="a step with too much"),
        pytest.param(
            lambda script: script["steps"][0]["fields"].update(group_id={"$ref": ["ana"]}),
            id="half a reference",
        ),
        pytest.param(
            lambda script: script["steps"][0]["fields"].update(group_id={"$non_empty": []}),
            id="a pattern in a request",
        ),
        pytest.param(lambda script: script["actors"][0].update(name=1), id="a name that is none"),
    ],
)
def test_what_is_no_script_disobeys_the_schema(spoil: Callable[[dict[str, Any]], object]) -> None:
    script = as_written(SCRIPT)
    assert complaints(script, schema("script")) == []

    spoil(script)

    assert complaints(script, schema("script")) != []


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("run", RUN),
        ("footer", FOOTER),
        ("trace-header", KAFKA),
        ("event", ANSWER),
        ("judgement", JUDGEMENT),
        ("difference", DIFFERENCE),
    ],
)
def test_a_record_obeys_its_schema(name: str, record: "DataclassInstance") -> None:
    content = {key: reported for key, reported in to_content(record).items() if key != "broker_ordinal"}

    assert complaints(content, schema(name)) == []
    assert complaints({**content, "more": 1}, schema(name)) == ["has more"]


@pytest.mark.slow
def test_the_page_lists_every_schema() -> None:
    page = schemas_page()
    assert all(f"]({schema_file(name)})" in page for name in SCHEMAS)
