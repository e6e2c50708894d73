"""The API versions that a broker reports."""

from harness.scenario import Conversation, ask, scenario


@scenario(
    "admin/api-versions/of-the-coordinator",
    source="ApiVersionsResponse#collectApis",
    clauses=(
        "VF-01",
        "VF-02",
        "VF-03",
        "VF-04",
        "VR-01",
        "VR-02",
        "VR-03",
        "VR-04",
        "VR-05",
        "VR-06",
        "VR-07",
        "VR-08",
        "VR-09",
        "VR-10",
    ),
)
def the_coordinators_apis_and_their_versions(conversation: Conversation) -> None:
    """ApiVersions returns the versions of the group coordinator's APIs that the release serves."""
    ana = conversation.actor("ana")

    for version in (0, 3):
        ana.asks(ask.api_versions(version=version), error_code="NONE")
