"""A far end whose host key was revoked is refused, even if known_hosts has the key."""

from tests.support.ssh_far_end import FarEnd


def test_revoked_host_keys_of_the_configuration_are_refused(own_end: FarEnd) -> None:
    configuration = own_end.sshd.client_configuration
    revoked = configuration.with_name("revoked")
    revoked.write_text(own_end.sshd.known_hosts.read_text().partition(" ")[2])
    with configuration.open("a") as file:
        file.write(f"    RevokedHostKeys {revoked}\n")
    done = own_end.run("--time", "0.5s")
    assert done.code == 1 and "its host key was revoked" in done.said
