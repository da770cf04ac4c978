"""Requests to a server, and its answers: documents, streams of events, and errors as they were raised there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from recollect.errors import InvalidInputError, StoreUnreachableError, error_class

if TYPE_CHECKING:
    import httpx

    from recollect.client.verbs import Verb

_SLOT = re.compile(r"\{(\w+)(:path)?\}")
_BODIES = frozenset({"POST", "PATCH", "PUT"})

Hear = Callable[[dict[str, Any]], Any]


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
        asked = {**headers, "Accept": "text/event-stream"}
        try:
            async with self._client().stream(verb.method, path, headers=asked, json=rest) as answer:
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
                        await _told(hear(document))
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
        said = str(error) or type(error).__name__
        return StoreUnreachableError(f"the server at {self.url} can't be reached: {said}; check the url")


async def _told(result: Any) -> None:
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
