"""The embedded embedding model, a small server of its own: it loads no Django."""
