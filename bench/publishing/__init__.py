"""A dataset as a folder that others can read, cite, and take into a database of their own."""
