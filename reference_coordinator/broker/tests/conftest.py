from reference_coordinator.tests.fixtures import each_family

__all__ = ["each_family"]
