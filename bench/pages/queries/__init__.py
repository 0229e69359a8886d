"""Reads behind the pages, one file a page. Each says how many queries it takes."""
