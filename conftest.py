"""Loads the harness's pytest plug-in; everything else lives there."""

pytest_plugins = ["harness.pytest_plugin"]
