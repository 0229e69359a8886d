"""Readers' audit: what people and models who did not write a dataset can read out of it."""
