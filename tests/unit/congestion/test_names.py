import pytest

import congestion
from flightpath.errors import MissingCapability


def test_reno_is_always_there():
    assert "reno" in congestion.available()
    congestion.ensure("reno")


@pytest.mark.parametrize("name", ["nosuch", "--help", "cubic; true", ""])
def test_what_the_kernel_does_not_have_is_named_with_what_it_has(name):
    with pytest.raises(MissingCapability, match=r"no congestion control .*reno"):
        congestion.ensure(name)
