"""The doctor of one host: reads it once or twice, and says what is wrong with it.

All but `reading` is pure: settings, counters and variables in, checks out.
"""
