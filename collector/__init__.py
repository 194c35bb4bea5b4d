"""From devices to batches: one transport a file or folder. Knows `roce` and nothing beside it."""
