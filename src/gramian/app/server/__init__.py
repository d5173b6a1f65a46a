"""One person's server: pages for a browser, and the same over HTTP; ``gramian serve`` starts it.

Parsing and computing run in processes of their own, with limits on memory and time.
"""
