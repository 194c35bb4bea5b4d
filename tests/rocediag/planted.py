"""A site with secrets and identities in all places where a hurried operator may put them."""

from roce.model import DeviceFacts, Facts, Gid, Neighbour, PortFacts

SETTINGS = """
include = ["more/*.toml", "s3cr3t-01"]
comand = "curl -H 'Authorization: Bearer s3cr3t-02'"
[fabric]
name = "acme lab"
mode = "s3cr3t-03"
[store]
url = "postgresql://acme-dba:s3cr3t-04@db.acme.example/findings?password=s3cr3t-05"
url_file = "postgresql://acme-dba:s3cr3t-06@db/findings"
[http]
listen = "127.0.0.1:s3cr3t-07"
[groups.acme-racks]
kind = "switch"
[groups.acme-racks.snmp]
version = "3"
user = "acme-poller"
auth = "s3cr3t-08"
priv = "s3cr3t-09"
auth_password_file = "/etc/rocediag/auth"
priv_password_file = "s3cr3t-10"
communities = ["s3cr3t-11"]
psk = 5318008
[alerts.acme-page]
sink = "alertmanager"
urls = ["https://acme-hook:s3cr3t-12@hook.acme.example/T0/s3cr3t-13?k=s3cr3t-14", "u:s3cr3t-15@am2"]
basic_user = "acme-pager"
headers = { Authorization = "s3cr3t-16" }
[alerts."https://u:s3cr3t-17@hook"]
[[device]]
name = "acme-leaf1"
role = "leaf"
group = "acme-racks"
address = "sw1.acme.example"
platform = "s3cr3t-18"
snmp = { community = "s3cr3t-19", user = "acme-other", port = 161 }
[[device]]
name = "acme-gpu1"
role = "host"
address = "u:s3cr3t-20@10.77.1.9"
group = "s3cr3t-21"
[[link]]
a = "acme-leaf1:Ethernet0"
b = "u:s3cr3t-22@acme-gpu1"
[[maintenance]]
devices = ["acme-leaf1", "s3cr3t-23"]
links = ["s3cr3t-24:x"]
time_zone = "s3cr3t-25"
reason = "acme moves; the new password is s3cr3t-26"
[[acme-devices]]
name = "acme-leaf2"
"""

SECRETS = (*(f"s3cr3t-{n:02}" for n in range(1, 27)), "5318008")
"""What no bundle may hold."""

NAMES = (
    *("acme", "ACME", "sw1", "hook", "db.", "10.77.1.9", "10.77.2.2", "10.77.3.3", "poller"),
    *("b8:3f:d2", "B8-3F-D2", "0a4d:0303", "fd77::9", "dba", "racks", "Rack 7", "boot-7f3a"),
)
"""What nothing that is masked may hold."""

FACTS = Facts(
    1.0,
    "acme-gpu1",
    DeviceFacts(
        kind="host",
        version="acme-gpu1 runs 22.31.1.14",
        ports={
            "mlx5_0/1": PortFacts(
                netdev="acme0",
                mac="b8:3f:d2:aa:bb:01",
                firmware="28.39.1002",
                gids=(
                    Gid(3, "0000:0000:0000:0000:0000:ffff:0a4d:0303", "RoCE v2", "acme0"),
                    Gid(4, "fd77::9", "RoCE v2", "acme0"),
                ),
                aliases=("Rack 7 of acme-leaf1",),
            )
        },
        neighbours=(
            Neighbour("mlx5_0/1", "ACME-Leaf1.acme.example", "Ethernet0", "B8-3F-D2-AA-BB-02"),
            Neighbour("mlx5_0/1", "spine of acme-leaf1, acme", "to 10.77.2.2 acme", "acme chassis"),
        ),
    ),
)
"""The settings of a host that tells much of its site."""
