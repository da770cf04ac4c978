"""The client of a server: `Recollect(url=..., api_key=...)`, with the verbs and types of the embedded store.

`Server` is asked instead of the store for every verb of `verbs.py`; all else says that it needs the store itself.
`Transport` sends the requests: answers are documents, streams of events, or errors as they were raised there.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from recollect.client.memories import UNCHANGED
from recollect.client.verbs import BY_NAME, LOCAL_ONLY, Verb, given_of, returned, verb_name
from recollect.config import Settings
from recollect.domain.codec import decode, encode
from recollect.domain.findings import AnswerPart
from recollect.domain.library import DocumentReport
from recollect.domain.oracle import OracleEvent
from recollect.domain.tenancy import TenantContext, read_token
from recollect.errors import ForbiddenError, InvalidInputError, StoreUnreachableError, error_class

if TYPE_CHECKING:
    import httpx

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
_UPLOAD = "library.add"
_SLOT = re.compile(r"\{(\w+)(:path)?\}")
_BODIES = frozenset({"POST", "PATCH", "PUT"})

Hear = Callable[[dict[str, Any]], Any]


class Server:
    """The verbs of a server. Who asks is who the key speaks for; a context says more, as far as the key may."""

    def __init__(
        self, settings: Settings, context: TenantContext | None, transport: Transport | None = None
    ) -> None:
        assert settings.url is not None
        self._settings = settings
        self._context = context
        self._transport = transport or Transport(settings.url, settings.api_key, timeout_s=_TIMEOUT_S)

    @property
    def tenant_id(self) -> str | None:
        """The tenant, as far as the key itself tells."""
        token = read_token(self._settings.api_key or "")
        return None if token is None else token.tenant_id

    def for_context(self, context: TenantContext) -> Server:
        """The same server as another caller sees it: needs a key that may speak for them."""
        if self.tenant_id is not None and context.tenant_id != self.tenant_id:
            raise ForbiddenError(f"this key is of tenant {self.tenant_id!r}, not of {context.tenant_id!r}")
        return Server(self._settings, context, self._transport)

    async def close(self) -> None:
        """End the connections."""
        await self._transport.close()

    def offers(self, function: Callable[..., Any]) -> bool:
        """Whether a method of the client is a verb of servers."""
        name = verb_name(function)
        return name in BY_NAME or name == _UPLOAD

    async def ask(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What a method of the client would do, asked of the server."""
        given = inspect.signature(function).bind(None, *args, **kwargs).arguments
        del given["self"]
        if verb_name(function) == _UPLOAD:
            return await self._upload(**given)
        verb, hear = BY_NAME[verb_name(function)], given.get("on_event")
        kept = {name: value for name, value in given.items() if _is_sent(name, value)}
        sent = {name: encode(value) for name, value in given_of(kept).items()}
        if hear is not None and verb.streams:
            document = await self._transport.stream(verb, sent, self._headers(), _hearer(verb, hear))
        else:
            document = await self._transport.send(verb, sent, self._headers())
        return decode(returned(verb), document)

    def _headers(self) -> dict[str, str]:
        named = {header: getattr(self._context, field, None) for field, header in _HEADERS.items()}
        return {header: value for header, value in named.items() if value is not None}

    async def _upload(self, source: Any, name: str | None = None, **given: Any) -> DocumentReport:
        """A document's bytes, from here to there."""
        from recollect.library.folders import load_document

        data, name, _ = await load_document(source, name=name)
        options = {key: value for key, value in given.items() if value is not None and key != "progress"}
        document = await self._transport.request(
            "POST",
            "/v1/library/documents",
            headers={**self._headers(), "Content-Type": "application/octet-stream"},
            params={"name": name, **options},
            content=data,
        )
        report: DocumentReport = decode(DocumentReport, document)
        return report


def _is_sent(name: str, value: Any) -> bool:
    return value is not UNCHANGED and name not in LOCAL_ONLY


def _hearer(verb: Verb, hear: Any) -> Any:
    """Who listens gets the events as they were there, where they can be read back."""

    def read(document: Mapping[str, Any]) -> Any:
        kind = str(document.get("type", ""))
        if kind == "answer_part":
            return AnswerPart.read(document)
        return OracleEvent.read(document) if kind.startswith("oracle_") else document

    return hear if verb.name == "explore" else (lambda document: hear(read(document)))


class Transport:
    """One server, and one key."""

    def __init__(self, url: str, api_key: str | None, *, timeout_s: float) -> None:
        if not re.match(r"https?://[^/]", url):
            raise InvalidInputError(f"url {url!r} must begin with http:// or https://")
        self.url = url.rstrip("/").removesuffix("/v1")
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._http: httpx.AsyncClient | None = None

    async def close(self) -> None:
        """End the connections."""
        if self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

    async def send(self, verb: Verb, given: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        """Ask for a verb; the document that came back."""
        path, rest = _placed(verb, given)
        bodied = verb.method in _BODIES
        return await self.request(
            verb.method,
            path,
            headers=headers,
            params=None if bodied else _addressed(rest),
            json=rest if bodied else None,
        )

    async def request(self, method: str, path: str, *, headers: Mapping[str, str], **parts: Any) -> Any:
        """Any request; the document that came back, or the error that the server raised."""
        import httpx

        try:
            answer = await self._client().request(method, path, headers=dict(headers), **parts)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        _check(answer.status_code, answer.content)
        return json.loads(answer.content) if answer.content else None

    async def stream(
        self, verb: Verb, given: Mapping[str, Any], headers: Mapping[str, str], hear: Hear
    ) -> Any:
        """Ask for a verb and hear what happens; the document of its result."""
        import httpx

        path, rest = _placed(verb, given)
        accepting = {**headers, "Accept": "text/event-stream"}
        try:
            async with self._client().stream(verb.method, path, headers=accepting, json=rest) as answer:
                if answer.is_error:
                    _check(answer.status_code, await answer.aread())
                name = ""
                async for line in answer.aiter_lines():
                    field, _, value = line.partition(": ")
                    if field == "event":
                        name = value
                    elif field == "data":
                        document = json.loads(value)
                        if name == "result":
                            return document
                        if name == "error":
                            raise error_class(document["code"])(document["detail"])
                        await _waited(hear(document))
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        raise StoreUnreachableError(f"the server at {self.url} broke off; ask again")

    def _client(self) -> httpx.AsyncClient:
        import httpx

        if self._http is None:
            headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
            self._http = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=self._timeout_s)
        return self._http

    def _unreachable(self, error: Exception) -> StoreUnreachableError:
        reason = str(error) or type(error).__name__
        return StoreUnreachableError(f"the server at {self.url} can't be reached: {reason}; check the url")


async def _waited(result: Any) -> None:
    if hasattr(result, "__await__"):
        await result


def _placed(verb: Verb, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The path with its slots filled, and what is left for the body or the address."""
    rest = dict(given)

    def fill(slot: Any) -> str:
        return quote(str(rest.pop(slot[1])), safe="/" if slot[2] else "")

    return _SLOT.sub(fill, verb.path), rest


def _addressed(rest: Mapping[str, Any]) -> dict[str, Any]:
    """What is left as parameters of an address: objects are written as JSON, what is None is not said."""
    return {
        name: json.dumps(value) if isinstance(value, Mapping) else value
        for name, value in rest.items()
        if value is not None
    }


def _check(status: int, content: bytes) -> None:
    """Raise what the server raised."""
    if status < 400:
        return
    try:
        problem = json.loads(content)
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        raise StoreUnreachableError(f"the server answered {status}, and no word of Recollect's") from None
    raise error_class(code)(detail)
