"""The networks in examples/networks/: what each file claims of VLANs, multicast, NAT, … holds."""

import pytest

from experiments import catalogue
from flightpath.project import PROJECT
from results.store.store import Store
from tests.support.scenario_runs import measured_cells

pytestmark = pytest.mark.virtual

NETWORKS = sorted((PROJECT / "examples" / "networks").glob("*.toml"))


@pytest.mark.parametrize("file", NETWORKS, ids=lambda file: file.stem)
def test_what_the_file_claims_holds(file, tmp_path):
    cells = measured_cells(catalogue.load(file), tmp_path / "runs", "--repeat", "2")
    assert {cell["verdict"] for cell in cells} == {"faithful"}, cells
    claims = Store.open(tmp_path / "runs").claims("latest")
    assert claims and {str(claim.verdict) for claim in claims} == {"reproduced"}, claims
