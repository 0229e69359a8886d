"""Statistics as pure functions: no database, no files, no clock."""
