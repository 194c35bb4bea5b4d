"""The sinks, one file each; a file's name is the kind of its sink."""
