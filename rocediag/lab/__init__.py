"""A simulated leaf-spine RoCE v2 fabric on loopback that speaks real protocols.

`model` is the fabric itself, in simulated time; `agent` serves its switches by SNMP, `hosts`
its hosts as files; `run` holds them together and `control` lets scenarios in while it runs.
"""
