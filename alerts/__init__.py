"""From findings to people. Knows `roce` and nothing beside it."""
