"""DescribeLogDirs v0, which tools before 2.0 send."""

from harness.scenario import Capability, Conversation, ask, containing, expect, in_any_order, scenario


@scenario(
    "admin/log-dirs/first-version",
    source="ReplicaManager#describeLogDirs",
    clauses=("VR-12",),
    needs=(Capability.SOLE_LEADER,),
)
def log_directories_in_the_first_version(conversation: Conversation) -> None:
    """DescribeLogDirs v0, which 4.0 dropped, returns those of the requested partitions that exist.

    A broker has the metadata of a partition before it has created its log.
    """
    ana = conversation.actor("ana")
    kept = {"offset_lag": 0, "is_future_key": False}

    ana.repeats(
        ask.request(
            "DescribeLogDirs",
            0,
            topics=(
                {"topic": "payments", "partitions": (0, 1, 99)},
                {"topic": "no-such-topic", "partitions": (0,)},
            ),
        ),
        until=expect.response(
            "DescribeLogDirs",
            results=(
                {
                    "error_code": "NONE",
                    "topics": containing(
                        {
                            "name": "payments",
                            "partitions": in_any_order(
                                {"partition_index": 0, **kept}, {"partition_index": 1, **kept}
                            ),
                        },
                    ),
                },
            ),
        ),
    )

    ana.sends(ask.request("DescribeLogDirs", 0, topics=()))
    ana.receives(expect.response("DescribeLogDirs", results=({"error_code": "NONE"},)))
