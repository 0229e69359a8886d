"""IBA-Agent: deep retrieval, broad thinking, deep alignment, trajectory-level synthesis."""
