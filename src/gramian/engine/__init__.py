"""Plans, solves and certifies: the one place where a route is chosen, retried and accepted."""
