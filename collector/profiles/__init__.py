"""What each platform calls each signal: one file of data a platform."""
