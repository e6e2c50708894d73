from reference_coordinator.tests.fixtures import each_family, new_broker

__all__ = ["each_family", "new_broker"]
