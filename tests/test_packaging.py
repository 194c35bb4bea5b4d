"""What `make install` lays down, and how far the unit is shut in."""

import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocediag.config import load
from rocediag.systemd import DESCRIPTORS

ROOT = Path(__file__).parent.parent
UNIT = ROOT / "systemd" / "rocediag.service"
AGENT = ROOT / "systemd" / "rocediag-agent.service"


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )


def unit(file: Path = UNIT) -> dict[str, list[str]]:
    """Give a unit's settings; one that stands twice has two values."""
    found: dict[str, list[str]] = {}
    for line in file.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("file", [UNIT, AGENT], ids=lambda file: file.stem)
def test_the_unit_is_shut_in_and_verifies(tmp_path: Path, file: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is missing: it comes with Debian's systemd")
    done = subprocess.run(
        [analyze, "security", "--offline=true", "--threshold=19", "--no-pager", file],
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-300:]
    here = tmp_path / file.name
    here.write_text(file.read_text().replace("/opt/rocediag/bin/rocediag", "/bin/true"))
    done = subprocess.run([analyze, "verify", here], text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_says_what_the_daemon_needs() -> None:
    told = unit()
    assert told["Type"] == ["notify"]
    assert float(told["WatchdogSec"][0]) >= 10
    assert told["User"] == ["rocediag"]
    assert told["LimitNOFILE"] == [str(DESCRIPTORS)]
    assert told["Restart"] == ["always"]
    assert told["RestartPreventExitStatus"] == ["2"]
    assert "LoadCredential" in told
    user = (ROOT / "systemd" / "rocediag.sysusers").read_text().splitlines()[-1].split()
    assert user[:2] == ["u", "rocediag"]


def test_the_agents_unit_says_what_it_needs_and_shuts_out_no_netlink() -> None:
    told = unit(AGENT)
    assert told["Type"] == ["notify"]
    assert told["User"] == ["rocediag"]
    assert told["RestartPreventExitStatus"] == ["2"]
    assert "AF_NETLINK" in told["RestrictAddressFamilies"][0].split()
    assert "ProcSubset" not in told, "the boot id is in /proc/sys"
    shut = ("Protect", "Private", "Restrict", "SystemCall", "MemoryDeny", "NoNew", "Capability")
    told["RestrictAddressFamilies"] = unit()["RestrictAddressFamilies"]
    for key, value in unit().items():
        assert not key.startswith(shut) or told[key] == value, key


def test_files_go_where_they_belong_and_the_operators_own_stay(tmp_path: Path) -> None:
    done = make("install-files", f"DESTDIR={tmp_path}", "PREFIX=/srv/rocediag")
    assert done.returncode == 0, done.stderr
    etc = tmp_path / "etc" / "rocediag"
    assert mode(etc) == 0o750
    assert mode(etc / "secrets") == 0o700
    assert mode(etc / "rocediag.toml") == 0o640
    assert load(etc / "rocediag.toml").targets
    for name, command in (("rocediag", "serve"), ("rocediag-agent", "agent")):
        text = (tmp_path / f"usr/lib/systemd/system/{name}.service").read_text()
        assert f"ExecStart=/srv/rocediag/bin/rocediag {command}" in text
    assert (tmp_path / "usr/lib/sysusers.d/rocediag.conf").exists()
    assert (tmp_path / "usr/lib/tmpfiles.d/rocediag.conf").exists()

    (etc / "rocediag.toml").write_text("# mine\n")
    assert make("install-files", f"DESTDIR={tmp_path}").returncode == 0
    assert (etc / "rocediag.toml").read_text() == "# mine\n"
    done = make("uninstall", f"DESTDIR={tmp_path}")
    assert done.returncode == 0, done.stderr
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [etc / "rocediag.toml"]


def test_uninstall_removes_no_folder_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "opt" / "bin").mkdir(parents=True)
    (tmp_path / "opt" / "bin" / "other").touch()
    assert make("uninstall", f"DESTDIR={tmp_path}", "PREFIX=/opt").returncode == 0
    assert (tmp_path / "opt" / "bin" / "other").exists()


@pytest.mark.parametrize(
    ("folder", "words"),
    [("no-venv", "apt-get install python"), ("", "apt-get install python3.11 python3.11-venv")],
)
def test_a_python_without_venv_is_told_in_one_line(tmp_path: Path, folder: str, words: str) -> None:
    python = tmp_path / "python3"
    python.write_text(
        '#!/bin/sh\ncase "$2" in *version_info\\[*) echo 3.11;; *ensurepip*) exit 1;; esac\n'
    )
    python.chmod(0o755)
    script, where = ROOT / "scripts" / "venv", str(tmp_path / ".venv")
    command = [str(script), str(python) if folder else "", where]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


APT = """#!/bin/bash
echo "$* | $(cat {policy}; stat -c %a {policy})" >> {log}
{end}
"""


@dataclass
class Machine:
    """A machine without the programs: the few tools of its PATH, its policy-rc.d."""

    folder: Path

    @property
    def policy(self) -> Path:
        return self.folder / "policy-rc.d"

    @property
    def log(self) -> list[str]:
        """What apt-get was asked, with the policy that then held."""
        return (self.folder / "log").read_text().split(chr(10))

    def run(self, *, apt: str | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the script that installs programs; ``apt`` is how apt-get ends, None: has none."""
        tools = self.folder / "bin"
        tools.mkdir()
        for name in ("bash", "env", "tee", "chmod", "rm", "cat", "stat"):
            (tools / name).symlink_to(shutil.which(name) or "/bin/false")
        if apt is not None:
            log = self.folder / "log"
            self._script("apt-get", APT.format(policy=self.policy, log=log, end=apt))
            self._script("sudo", '#!/bin/bash\nshift\nexec "$@"\n')
        script = (ROOT / "scripts" / "programs").read_text()
        copy = self.folder / "programs"
        script = script.replace(":/usr/sbin:/sbin", "")
        copy.write_text(script.replace("/usr/sbin/policy-rc.d", str(self.policy)))
        return subprocess.run(
            ["/bin/bash", copy],
            env={"PATH": str(tools)} | environ,
            text=True,
            capture_output=True,
            check=False,
        )

    def _script(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_missing_programs_are_named_where_they_cannot_be_installed(machine: Machine) -> None:
    done = machine.run()
    assert done.returncode == 0
    for package in ("snmpd", "snmp", "prometheus", "prometheus-alertmanager", "mosquitto"):
        assert package in done.stderr
    assert "are skipped" in done.stderr


def test_in_ci_missing_programs_are_a_failure(machine: Machine) -> None:
    assert machine.run(CI="true").returncode == 1


def test_while_it_installs_no_service_may_be_started_or_stopped(machine: Machine) -> None:
    done = machine.run(apt="exit 0")
    assert done.returncode == 0, done.stderr
    update, policy, rights, install, *_ = machine.log
    assert update == "-qq update | #!/bin/sh"
    assert (policy, rights) == ("exit 101", "755")
    assert install.startswith("-qq install --no-install-recommends --yes ")
    assert not machine.policy.exists()


@pytest.mark.parametrize("end", ["exit 100", "kill -TERM $PPID"])
def test_however_it_ends_the_policy_goes_with_it(machine: Machine, end: str) -> None:
    machine.run(apt=end)
    assert not machine.policy.exists()


def test_a_policy_of_the_machines_own_stays_as_it_is(machine: Machine) -> None:
    machine.policy.write_text("# mine\n")
    assert machine.run(apt="exit 0").returncode == 0
    assert machine.log[0] == "-qq update | # mine"
    assert machine.policy.read_text() == "# mine\n"


@pytest.mark.soak
def test_an_installation_runs_by_itself(tmp_path: Path) -> None:
    prefix = tmp_path / "opt"
    done = make("install-venv", f"PREFIX={prefix}")
    if done.returncode != 0 and "No matching distribution" in done.stderr:
        pytest.skip("no package index answers")
    assert done.returncode == 0, done.stderr
    command, url = prefix / "bin" / "rocediag", f"sqlite:///{tmp_path}/findings.db"
    for arguments in (
        ["--version"],
        ["check-config", "--example"],
        ["db", "upgrade", "--store", url],
    ):
        ran = subprocess.run(
            [command, *arguments],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"]},
            text=True,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
    (tmp_path / "site.toml").write_text(
        '[[device]]\nname = "leaf1"\nrole = "leaf"\naddress = "10.0.0.1"\nplatform = "sonic"\n'
    )
    site = str(tmp_path / "site.toml")
    checked = subprocess.run([command, "check-config", "--config", site], check=False)
    assert checked.returncode == 0
    assert make("uninstall", f"DESTDIR={tmp_path}", "PREFIX=/opt").returncode == 0
    assert not prefix.exists()
