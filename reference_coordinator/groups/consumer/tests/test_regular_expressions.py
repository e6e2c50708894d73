"""Members that subscribe by regular expressions."""

from reference_coordinator.groups.consumer.tests.consumer_kit import Consumers


def test_topics_are_found_behind_the_join(release: str) -> None:
    consumers = Consumers.on(release, a=1, b=2, z=1)

    assert consumers.epoch_and_owned("ana", 0, regex="[ab]") == (1, {})
    consumers.broker.elapse(0)
    assert consumers.epochs() == ("Assigning", 2, 1)
    assert consumers.epoch_and_owned("ana", 1) == (2, {"a": (0,), "b": (0, 1)})


def test_names_and_an_expression_are_read_together(release: str) -> None:
    consumers = Consumers.on(release, a=1, z=1)
    consumers.beat("ana", 0, regex="a")
    consumers.beat("ana", 1)

    assert consumers.epoch_and_owned("ana", 2, regex="a", names=("z",)) == (3, {"a": (0,), "z": (0,)})


def test_who_joins_with_a_known_expression_gets_its_topics_at_once(release: str) -> None:
    consumers = Consumers.on(release, a=2)
    consumers.beat("ana", 0, regex="a")
    consumers.beat("ana", 1)

    assert consumers.epoch_and_owned("bob", 0, regex="a") == (3, {})
    assert consumers.epoch_and_owned("ana", 2) == (2, {"a": (0,)})


def test_an_expression_that_is_given_up_bumps_from_4_1_2_on(release: str) -> None:
    consumers = Consumers.on(release, a=1)
    consumers.beat("ana", 0, regex="a")
    consumers.beat("ana", 1)

    consumers.beat("ana", 2, regex="")

    assert consumers.epochs()[1] == (2 if release in {"4.0.0", "4.0", "4.1.0"} else 3)


def test_expressions_are_resolved_at_most_every_ten_seconds(release: str) -> None:
    consumers = Consumers.on(release, a=1)
    consumers.beat("ana", 0, regex="a|b")
    consumers.beat("ana", 1)
    consumers.topics(a=1, b=1)

    consumers.broker.elapse(10_000)
    assert consumers.epoch_and_owned("ana", 2) == (2, None)
    consumers.broker.elapse(1)
    assert consumers.epoch_and_owned("ana", 2) == (2, None)
    assert consumers.epoch_and_owned("ana", 2) == (3, {"a": (0,), "b": (0,)})


def test_an_expression_has_to_match_all_of_a_name() -> None:
    consumers = Consumers.on("4.3", a=1)
    consumers.beat("ana", 0, regex="aa?b?|")
    assert consumers.epoch_and_owned("ana", 1) == (2, {"a": (0,)})

    other = Consumers.on("4.3", a=1)
    other.beat("ana", 0, regex="ab")
    assert other.epoch_and_owned("ana", 1) == (1, None)
