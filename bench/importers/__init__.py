"""Histories from elsewhere: public datasets and our own JSONL."""
