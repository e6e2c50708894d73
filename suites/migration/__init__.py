"""Groups that go from the classic to the consumer protocol and back, and those that have members of both."""
