"""What people start: the server and its page."""
