"""One person's server: pages for a browser, and the same over HTTP; ``gramian serve`` starts it.

Parsing and computing run in processes of their own, with limits on memory and time. A request takes this way::

    app.Guard: host, origin, token, size
    fields: what it says             routes, pages: what it is about
    state.State: the item, a process that waits (or of its own, for a fit)
    worker: limits, errors           tasks: what is computed; the answer is bytes, which nobody opens on their way
"""
