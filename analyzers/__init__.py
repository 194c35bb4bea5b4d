"""From fabric state to findings. Knows `roce` and nothing beside it."""
