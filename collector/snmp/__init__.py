"""SNMP: our own codec, security model, client and source."""
