"""The stand-in for a language model and the embedded embedding model, each its own small server."""
