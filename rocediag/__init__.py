"""The application: configuration, service, store, HTTP, command line and lab."""
