"""Settings that ssh(1) has for a host, and the keys by which hosts are known."""

import dataclasses

import pytest
from paramiko import ECDSAKey

from flightpath.errors import UsageError
from probes.preflight.ssh import host_keys
from probes.preflight.ssh.host_keys import HostKeyRefused, KnownKey
from probes.preflight.target import Target, parse_configuration, resolve

TARGET = Target("dtn", "me", "dtn.example.org", 22)
_TOLD = """\
user me
hostname dtn.example.org
port 2022
addressfamily inet6
hashknownhosts yes
identitiesonly yes
stricthostkeychecking accept-new
identityfile ~/.ssh/id_%r
identityfile /keys/%%odd
globalknownhostsfile /etc/ssh/ssh_known_hosts
userknownhostsfile /home/me/.ssh/known_hosts "/home/me/with space"
identityagent none
hostkeyalias cluster
revokedhostkeys ~/.ssh/%h.revoked
"""


def test_an_invalid_configuration_is_an_error_in_the_words_of_ssh(tmp_path):
    file = tmp_path / "config"
    file.write_text("Nonsense yes\n")
    with pytest.raises(UsageError) as error:
        resolve("dtn", configuration=str(file))
    assert error.value.args[0].startswith(f"dtn: {file}: line 1: Bad configuration option")


def test_configuration_is_read_as_ssh_prints_it(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    found = parse_configuration("dtn", _TOLD)
    assert found.target == Target(
        "dtn", "me", "dtn.example.org", 2022,
        identity_files=("/home/me/.ssh/id_me", "/keys/%odd"),
        known_hosts_files=("/home/me/.ssh/known_hosts", "/home/me/with space", "/etc/ssh/ssh_known_hosts"),
        host_key_name="cluster", identities_only=True, identity_agent="none",
    )  # fmt: skip
    assert (found.accept_new, found.hash_names, found.family) == (True, True, "inet6")
    assert found.revoked_keys_files == ("/home/me/.ssh/dtn.example.org.revoked",)
    assert parse_configuration("dtn", _TOLD.replace("~/.ssh/%h.revoked", "none")).revoked_keys_files == ()


@pytest.mark.parametrize(
    ("setting", "proxy", "only"),
    [
        ("proxycommand nc --password secret %h %p", "ProxyCommand", "ProxyCommand"),
        ("certificatefile ~/.ssh/dtn-cert.pub", "", "CertificateFile"),
        ("pkcs11provider /usr/lib/token.so", "", "PKCS11Provider"),
        ("pkcs11provider none", "", ""),
    ],
)
def test_settings_that_only_ssh_understands(setting, proxy, only):
    found = parse_configuration("dtn", f"{_TOLD}{setting}\n")
    assert (found.target.proxy, found.only_openssh) == (proxy, only)


def test_options_reach_ssh_as_they_reached_its_configuration(tmp_path):
    file = tmp_path / "config"
    file.write_text("Host dtn\n    ProxyJump gate\n")
    found = resolve("me@dtn", port=2022, configuration=str(file))
    assert found.ssh_options == ("-F", str(file), "-p", "2022", "-l", "me")
    assert found.only_openssh == "ProxyJump gate"


def test_host_keys():
    key, other = ECDSAKey.generate(), ECDSAKey.generate()

    def known(made, marker=""):
        return KnownKey(made.get_name(), made.get_base64(), marker, "file")

    assert host_keys.check(TARGET, key, [known(key)])
    assert host_keys.check(TARGET, key, [known(other), known(key)])
    assert not host_keys.check(TARGET, key, [])
    assert not host_keys.check(TARGET, key, [known(other, "@cert-authority")])
    with pytest.raises(HostKeyRefused, match="CHANGED"):
        host_keys.check(TARGET, key, [known(other)])
    with pytest.raises(HostKeyRefused, match="revoked"):
        host_keys.check(TARGET, key, [known(key), known(key, "@revoked")])


def test_known_hosts_are_found_as_ssh_finds_them_and_added_once_more(tmp_path):
    key, other = ECDSAKey.generate(), ECDSAKey.generate()
    file = tmp_path / "known hosts"
    target = dataclasses.replace(TARGET, port=2222, known_hosts_files=(str(file),))
    assert host_keys.look_up(target) == []
    file.write_text(f"# mine\nelse ecdsa-sha2-nistp256 {other.get_base64()}")  # its last line has no end
    for hash_name in (False, True):
        host_keys.add(target, key, hash_name=hash_name)
    _, _, plain, hashed = file.read_text().splitlines()
    assert plain.startswith("[dtn.example.org]:2222 ") and hashed.startswith("|1|")
    assert [each.key for each in host_keys.look_up(target)] == [key.get_base64()] * 2
    file.write_text(f"[*.example.org]:2222 ecdsa-sha2-nistp256 {other.get_base64()}\n")
    assert [each.key for each in host_keys.look_up(target)] == [other.get_base64()]


def test_known_types_are_asked_for_first():
    known, offered = [KnownKey("ssh-rsa", "", "", "")], ("ssh-ed25519", "rsa-sha2-256", "rsa-sha2-512")
    assert host_keys.preferred_algorithms(known, offered) == ["rsa-sha2-512", "rsa-sha2-256", "ssh-ed25519"]
