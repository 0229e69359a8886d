"""Pages of the human half, one file a page group."""
