"""The client of a model's server: transport, replies, structured output, limits, embeddings."""
