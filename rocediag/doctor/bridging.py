"""What leads RoCE to its lossless priority, and keeps that lossless: DCB settings of a NIC."""

from collections.abc import Iterator

from analyzers import words
from roce.model import Mode
from rocediag.doctor.checks import Check, Subject, ok, priorities, unknown, wrong


def checks(on: Subject) -> Iterator[Check]:
    """Check trust, the DSCP map, PFC and 802.3x pause, where the fabric means to be lossless."""
    if not on.site.lossless or on.site.mode is Mode.LOSSY:
        return
    yield trust(on)
    if on.about.trust != "pcp":
        yield dscp(on)
    yield pfc(on)
    yield global_pause(on)


def trust(on: Subject) -> Check:
    """Check that DSCP decides the priority."""
    told = on.about.trust
    if told is None:
        return unknown("trust", _hidden(on), on.step("show_dscp_map"), expected="dscp")
    if told == "dscp":
        return ok("trust", told, "dscp")
    why = "without a VLAN tag every packet rides priority 0, whatever its DSCP says"
    fix = f"`mlnx_qos -i {on.netdev} --trust dscp`"
    other = f"`dcb apptrust set dev {on.netdev} order dscp`"
    return wrong("trust", told, "dscp", why, fix if on.mlx5 else other)


def dscp(on: Subject) -> Check:
    """Check that RoCE's DSCP leads to a lossless priority."""
    value, table = on.site.dscp, on.about.dscp_to_priority
    meant = words.lossless(on.site)
    expected = f"DSCP {value} to priority {meant}"
    # A ConnectX that trusts DSCP and has no entry for one takes its upper three bits.
    found = None if table is None else table.get(value, value >> 3 if on.mlx5 else None)
    if found is None:
        why = _hidden(on) if table is None else f"its map does not name DSCP {value}"
        return unknown("dscp", why, on.step("show_dscp_map"), expected=expected)
    shown = f"DSCP {value} to priority {found}"
    if found in on.site.lossless:
        return ok("dscp", shown, expected)
    why = f"RoCE rides priority {found}, which is not lossless: it drops where it should pause"
    fix = f"`mlnx_qos -i {on.netdev} --dscp2prio set,{value},{meant}`"
    other = f"`dcb app replace dev {on.netdev} dscp-prio {value}:{meant}`"
    return wrong("dscp", shown, expected, why, fix if on.mlx5 else other)


def pfc(on: Subject) -> Check:
    """Check that PFC is on for every lossless priority."""
    told, meant = on.about.pfc_enabled, on.site.lossless
    expected = f"on for {priorities(meant)}"
    if told is None:
        return unknown("pfc", _hidden(on), on.step("show_pfc_on"), expected=expected)
    found, lacks = f"on for {priorities(told)}" if told else "off", set(meant) - set(told)
    if not lacks:
        return ok("pfc", found, expected)
    why = (
        f"the NIC neither stops its switch nor is stopped by it on priority {priorities(lacks)}, "
        "so that packets are dropped; mlnx_qos does not outlive a reboot, and lldpad may undo it"
    )
    on_for = " ".join(f"{p}:on" for p in sorted(meant))
    other = f"`dcb pfc set dev {on.netdev} prio-pfc all:off {on_for}`"
    return wrong("pfc", found, expected, why, on.step("set_pfc") if on.mlx5 else other)


def global_pause(on: Subject) -> Check:
    """Check that 802.3x pause is off, which stops all priorities at once."""
    show = f"`ethtool -a {on.netdev}`"
    if on.about.global_pause is None:
        return unknown("global_pause", _hidden(on), show, expected="off")
    if not on.about.global_pause:
        return ok("global_pause", "off", "off")
    why = "802.3x pause stops all priorities at once, and PFC is off where it is on"
    fix = f"`ethtool -A {on.netdev} rx off tx off`"
    return wrong("global_pause", "on", "off", why, fix)


def _hidden(on: Subject) -> str:
    """Say why a setting is not known."""
    if on.slaves:
        return f"a bond has none of its own; its slaves do: {', '.join(on.slaves)}"
    if on.about.netdev is None:
        return "no network device is told for it"
    return "neither its driver's files, DCB nor the rows of `ethtool -S` tell it"
