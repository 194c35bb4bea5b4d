"""Rules on counters: one file each."""
