"""The ground floor: what a RoCE v2 fabric is. Imports nothing else of ours."""
