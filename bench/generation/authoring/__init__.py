"""A year's texts by a model in several roles: who plans, who writes, who answers, who reads blind."""
