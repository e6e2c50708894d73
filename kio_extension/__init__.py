"""Versions of requests and responses that kio lacks, as classes in kio's style.

They are made from Kafka's own message definitions, which `schemas/` has as they are in Kafka's client
library. From 3.9.2 come the APIs whose first versions 4.0 dropped; from 4.0.2 the preview of share groups,
which 4.1 dropped; from 4.4.0 those that have a version newer
than kio's, or that kio lacks.
The definitions from 4.4.0 include the records of consumer groups, for which no classes are made.
Harness and reference use the same classes.
"""

from kio.index import UnknownEntity

from kio_extension.classes import api_key_map, load_request_schema, load_response_schema

__all__ = ("UnknownEntity", "api_key_map", "load_request_schema", "load_response_schema")
