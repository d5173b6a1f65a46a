"""One person's server: pages for a browser, and the same over HTTP; ``gramian serve`` starts it.

Parsing and computing run in processes of their own, with limits on memory and time. A request takes this way:

1. ``app.Guard``: host, origin, token and size.
2. ``fields``: what it says; ``routes`` and ``pages``: what it is about.
3. ``state.State``: the item, and a process that waits, or one of its own for a fit.
4. ``worker``: limits and errors; ``tasks``: what is computed. The answer is bytes that the server passes on.
"""
