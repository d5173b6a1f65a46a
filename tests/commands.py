"""Commands called as the shell calls them, but so that errors are raised."""

from dataclasses import fields

from gramian.cli.operating import Call
from gramian.cli.options import Engine, Reading
from gramian.operations import operations


def called(name, reading=None, as_json=False, **given):
    """Run an operation as its command does; errors are raised."""
    verb = operations()[name]
    options = verb.options(
        **{one.name: given.pop(one.name) for one in fields(verb.options) if one.name in given}
    )
    given = {one.name: None for one in verb.inputs} | {one.name: one.default for one in verb.outs} | given
    Call(verb, given | {"as_json": as_json}, reading or Reading(), Engine()).run(options)
