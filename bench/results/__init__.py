"""The numbers of a run: rows, measures, pairs, losses, agreement; kept until the scores change."""
