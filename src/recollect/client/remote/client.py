"""`AsyncRemote`: an `AsyncRecollect` whose verbs are asked of a server.

Its methods are made from `client/verbs.py`, so that none can be forgotten or differ. What is no verb of a server
ends at `_workspace`, which says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NoReturn

from recollect.client.arguments import check_arguments
from recollect.client.async_client import UNCHANGED, AsyncRecollect
from recollect.client.library import AsyncLibrary
from recollect.client.remote.transport import Transport
from recollect.client.verbs import LOCAL_ONLY, VERBS, Verb, given_of, returned
from recollect.domain.codec import decode, encode
from recollect.domain.library import DocumentReport
from recollect.domain.tenancy import TenantContext, read_token
from recollect.errors import ForbiddenError, InvalidInputError

#: A consultation with a model may take minutes.
_TIMEOUT_S = 600.0
_HEADERS = {
    "user_id": "Recollect-User",
    "agent_id": "Recollect-Agent",
    "session_id": "Recollect-Session",
    "project_id": "Recollect-Project",
    "team_id": "Recollect-Team",
    "org_id": "Recollect-Org",
}


class AsyncRemote(AsyncRecollect):
    """The verbs of a server. Who asks is who the key speaks for; `for_context` says more, as far as the key may."""

    _transport: Transport
    _said: TenantContext | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        settings = self.settings
        context = (
            inspect.signature(AsyncRecollect.__init__).bind(self, *args, **kwargs).arguments.get("context")
        )
        assert settings.url is not None
        self._transport = Transport(settings.url, settings.api_key, timeout_s=_TIMEOUT_S)
        token = read_token(settings.api_key or "")
        if context is None and token is not None:
            # As far as the key itself tells.
            self._context = TenantContext(tenant_id=token.tenant_id)
        self._said = context

    def for_context(self, context: TenantContext) -> AsyncRecollect:
        """The same server as another caller sees it: needs a key that may speak for them."""
        token = read_token(self.settings.api_key or "")
        if token is not None and context.tenant_id != token.tenant_id:
            raise ForbiddenError(f"this key is of tenant {token.tenant_id!r}, not of {context.tenant_id!r}")
        other = super().for_context(context)
        assert isinstance(other, AsyncRemote)
        other._transport = self._transport
        other._said = context
        return other

    async def open(self) -> AsyncRemote:
        """Nothing to open: the first request connects."""
        return self

    async def close(self) -> None:
        """End the connections."""
        if self._owner:
            await self._transport.close()

    async def _workspace(self) -> NoReturn:
        raise InvalidInputError("this needs the store itself; run it where the server runs")

    def _headers(self) -> dict[str, str]:
        said = self._said
        return {
            header: value
            for field, header in _HEADERS.items()
            if said is not None and (value := getattr(said, field)) is not None
        }

    async def _ask(self, verb: Verb, given: Mapping[str, Any]) -> Any:
        hear = given.get("on_event")
        said = {name: value for name, value in given.items() if _is_said(name, value)}
        sent = {name: encode(value) for name, value in given_of(said).items()}
        if hear is not None and verb.streams:
            document = await self._transport.stream(verb, sent, self._headers(), _hearer(verb, hear))
        else:
            document = await self._transport.send(verb, sent, self._headers())
        return decode(returned(verb), document)

    async def _upload(self, source: Any, **given: Any) -> DocumentReport:
        """A document's bytes, from here to there."""
        from recollect.library.folders import load_file

        name = given.pop("name")
        if isinstance(source, bytes):
            if name is None:
                raise InvalidInputError(
                    "bytes need a file name, such as name='guide.md', to tell what they are"
                )
            data = source
        else:
            data, name, _ = await load_file(source, name=name, limit=self.settings.library_max_file_bytes)
        said = {key: value for key, value in given.items() if value is not None and key != "progress"}
        document = await self._transport.request(
            "POST",
            "/v1/library/documents",
            headers={**self._headers(), "Content-Type": "application/octet-stream"},
            params={"name": name, **said},
            content=data,
        )
        made: DocumentReport = decode(DocumentReport, document)
        return made


def _is_said(name: str, value: Any) -> bool:
    return value is not UNCHANGED and name != "self" and name not in LOCAL_ONLY


def _hearer(verb: Verb, hear: Any) -> Any:
    """Who listens gets the events as they were there, where they can be read back."""
    from recollect.domain.findings import AnswerPart
    from recollect.domain.oracle import OracleEvent

    def read(document: Mapping[str, Any]) -> Any:
        kind = str(document.get("type", ""))
        if kind == "answer_part":
            return AnswerPart.read(document)
        return OracleEvent.read(document) if kind.startswith("oracle_") else document

    return hear if verb.name == "explore" else (lambda document: hear(read(document)))


def _method(verb: Verb, *, of_face: bool) -> Any:
    """The client's method with the same signature, asked of the server."""
    signature = inspect.signature(verb.function)

    async def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        remote: AsyncRemote = self._client if of_face else self
        given = signature.bind(self, *args, **kwargs).arguments
        check_arguments(verb.function, given)
        return await remote._ask(verb, given)

    ask.__name__ = verb.name.rpartition(".")[2]
    ask.__doc__ = verb.function.__doc__
    ask.__signature__ = signature  # type: ignore[attr-defined]
    return ask


def _install() -> None:
    """Make the methods of the class and of its faces."""
    faces: dict[str, dict[str, Any]] = {}
    for verb in VERBS:
        face, _, name = verb.name.rpartition(".")
        if verb.only:
            continue  # another address of a verb that is here in full
        if face:
            faces.setdefault(face, {})[name] = _method(verb, of_face=True)
        else:
            setattr(AsyncRemote, name, _method(verb, of_face=False))

    async def add(self: Any, source: Any, **given: Any) -> DocumentReport:
        check_arguments(AsyncLibrary.add, {"source": source, **given})
        options = {"name": None, **given}
        return await self._client._upload(source, **options)  # type: ignore[no-any-return]

    faces["library"]["add"] = add
    for face, methods in faces.items():
        plain = type(getattr(AsyncRecollect, face).fget(object.__new__(AsyncRemote)))
        made = type(f"Remote{plain.__name__.removeprefix('Async')}", (plain,), methods)
        setattr(AsyncRemote, face, property(made))


_install()
