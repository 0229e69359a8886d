"""What methods share: prompts, acting, the recorder, budget, dates."""
