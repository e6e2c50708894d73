"""A pytest plug-in: no property fails because the machine is busy.

Hypothesis measures by the clock how long examples take, and fails a property whose examples take long.
"""

from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
