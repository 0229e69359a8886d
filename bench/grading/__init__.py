"""What a trajectory is worth: rules, judges, their combination, where a preference was lost, the store."""
