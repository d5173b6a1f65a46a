"""What people start: the verbs, and the shell, the server and its page that are made of them."""
