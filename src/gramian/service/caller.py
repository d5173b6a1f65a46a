"""The visitor behind a request: their items, and what they may change."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from gramian.service.access import network_of
from gramian.service.cookies import get_cookie, name_of, set_cookie
from gramian.service.item_storage import ItemStorage, VisibleItems
from gramian.service.items import Item
from gramian.service.problems import Refusal
from gramian.service.schemas import Kind, Reading
from gramian.service.state import AppState
from gramian.service.visitors import COOKIE, REMEMBERED, Visitor

READING = set(Reading.model_fields)


def upload_payload(path: Any, name: str, reading: Reading | None = None) -> dict[str, Any]:
    """Return what a worker needs to read a body."""
    options = {} if reading is None else reading.model_dump(exclude_defaults=True, include=READING)
    return {"path": str(path), "name": name, "kind": path.suffix, "given": False, "reading": options}


class Caller:
    """The visitor of a request; None as ``visitor`` while they have no items.

    Attributes
    ----------
    request : Request
    state : State
    visitor : Visitor or None
    items : VisibleItems
    """

    def __init__(self, request: Request, state: AppState) -> None:
        self.request, self.state = request, state
        self._cookie = get_cookie(request.scope, COOKIE)
        self.visitor = state.visitors.find(self._cookie, network_of(request.scope))

    @property
    def items(self) -> VisibleItems:
        """The items that the visitor can see."""
        own = None if self.visitor is None else self.visitor.storage
        return VisibleItems(own, self.state.shared, self.state.sources)

    async def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """Return a worker's answer, within the share of the visitor, or of the network if there is none."""
        who = network_of(self.request.scope) if self.visitor is None else self.visitor.name
        return await self.state.quick.ask(order, who=who)

    async def ensure_visitor(self) -> Visitor:
        """Return the visitor; a new one receives a cookie with the response."""
        visitors = self.state.visitors
        # A long upload may have outlasted the visitor.
        if self.visitor is not None and visitors.is_here(self.visitor.name):
            return self.visitor
        name, network = name_of(self._cookie), network_of(self.request.scope)
        if name is not None and self.state.shared is not None:
            shared = await run_in_threadpool(self.state.shared.items)
            if any(item.owner == name for item in shared):
                # The owner of a shared model may still change it.
                self.visitor = visitors.enter(name, network)
                return self.visitor
        self.visitor, cookie = visitors.make(network)
        await self.state.forget()  # the visitor who made room, if one did
        set_cookie(self.request.scope, COOKIE, cookie, REMEMBERED)
        return self.visitor

    def may_change(self, item: Item) -> bool:
        """Return whether the visitor may replace or delete an item.

        A shared model belongs to the visitor who added it. A server without a token serves only this machine,
        whose users may change any.
        """
        if item.whose == "kept":
            own = item.owner is not None and item.owner == name_of(self._cookie)
            return own or self.state.settings.token is None
        return item.whose == "yours"

    def changeable(self, kind: Kind, id: str) -> tuple[Item, ItemStorage]:
        """Return an item that the visitor may change, and its storage.

        Raises
        ------
        Refusal
            404 for an unknown item, 403 for one that they may not change.
        """
        item, storage = self.items.find(kind, id)
        if storage is None:
            text = "This item is read-only: the server was started with it."
            raise Refusal(403, text, "Change one of yours.")
        if not self.may_change(item):
            text = "Only the visitor who added this shared model may replace or delete it."
            raise Refusal(
                403, text, "Send the cookie that you received with the upload, or ask the administrator."
            )
        return item, storage

    def data(self, id: str, reading: Reading) -> dict[str, Any]:
        """Return what a worker needs to read uploaded data with the reading options of this request."""
        data = self.items.payload("data", id)
        data["reading"] |= reading.model_dump(exclude_defaults=True, include=READING)
        return data


CurrentCaller = Annotated[Caller, Depends()]
