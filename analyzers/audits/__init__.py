"""Audits of facts: one file each."""
