"""Pages that show what runs measured. Queries read, charts draw, views put them together."""
