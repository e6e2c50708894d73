"""Loads pytest plug-ins: the harness's own, and those that watch over our tests."""

pytest_plugins = [
    "harness.pytest_plugin",
    "harness.tests.coroutines",
    "harness.tests.left_over",
    "harness.tests.may_start",
    "harness.tests.oldest_python",
    "harness.tests.skipped",
    "harness.tests.untimed",
    "harness.tests.workers",
]
