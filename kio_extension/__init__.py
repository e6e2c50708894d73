"""The versions of requests and responses that kio lacks, as classes in kio's style.

They are made of Kafka's own message definitions, which `schemas/` has as Kafka's client library brings them:
of 3.9.2 the APIs whose first versions 4.0 dropped, of 4.4.0 those that have a version newer than kio's, or
that kio lacks.
Of 4.4.0 it also has the records of consumer groups, of which no classes are made.
Harness and reference use the same classes.
"""

from kio.index import UnknownEntity

from kio_extension.classes import api_key_map, load_request_schema, load_response_schema

__all__ = ("UnknownEntity", "api_key_map", "load_request_schema", "load_response_schema")
