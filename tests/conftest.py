"""Settings of the test suite."""

from hypothesis import settings

settings.register_profile("skdp", deadline=None)
settings.load_profile("skdp")
