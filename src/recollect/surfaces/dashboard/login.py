"""Logging in and out: with a key, or with the one-time link that `recollect serve` prints. Plain pages, no script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from recollect.client.tenancy import VISIT_LASTS
from recollect.errors import RecollectError, UnauthorizedError
from recollect.surfaces.dashboard.addresses import ENTER_PATH, LOGIN_PATH, LOGOUT_PATH, ROOT
from recollect.surfaces.dashboard.visitor import COOKIE, token_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from recollect.client.async_client import AsyncRecollect
    from recollect.surfaces.http.auth import Doorkeeper

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Log in · Recollect</title><link rel="icon" href="data:,"><style>
:root {{ color-scheme: light dark; --ink: #1e2330; --paper: #f6f7fb; --card: #fff; --line: #dfe3ec; --mark: #4f46e5; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6e8ef; --paper: #12141b; --card: #1b1e28; --line: #2e3341; --mark: #8b87ff; }} }}
body {{ font: 16px/1.5 system-ui, sans-serif; background: var(--paper); color: var(--ink); margin: 0;
  min-height: 100vh; display: grid; place-items: center; }}
main {{ background: var(--card); border: 1px solid var(--line); border-radius: 16px; padding: 32px;
  width: min(400px, calc(100vw - 32px)); box-sizing: border-box; }}
h1 {{ margin: 0 0 8px; font-size: 22px; }} p {{ margin: 0 0 20px; opacity: .8; }}
label {{ display: block; font-size: 14px; margin-bottom: 6px; }}
input {{ width: 100%; box-sizing: border-box; font: inherit; padding: 10px 12px; border-radius: 10px;
  border: 1px solid var(--line); background: var(--paper); color: inherit; }}
button {{ width: 100%; margin-top: 16px; font: inherit; font-weight: 600; padding: 10px; border: 0;
  border-radius: 10px; background: var(--mark); color: #fff; cursor: pointer; }}
input:focus-visible, button:focus-visible {{ outline: 3px solid var(--mark); outline-offset: 2px; }}
.fault {{ color: #c0392b; opacity: 1; }} code {{ font-size: 14px; }}
@media (prefers-color-scheme: dark) {{ .fault {{ color: #ff8a7a; }} button {{ color: #12141b; }} }}
</style></head><body><main>
<h1>Recollect</h1>{message}
{form}
</main></body></html>"""
_ASK_FOR_KEY = """<form method="post" action="{action}">
<label for="key">Your key</label>
<input id="key" name="key" type="password" autocomplete="current-password" placeholder="rcl_…" required autofocus>
<input type="hidden" name="to" value="{to}">
<button type="submit">Log in</button></form>
<p style="margin: 20px 0 0">No key? <code>recollect keys link</code> prints a link that logs you in.</p>"""
_ASK_WHETHER = """<form method="post" action="{action}"><input type="hidden" name="code" value="{code}">
<button type="submit">Log in with this link</button></form>"""


def add_login(app: FastAPI, client: AsyncRecollect, doorkeeper: Doorkeeper) -> None:
    """The pages to log in and out by."""

    @app.get(LOGIN_PATH, include_in_schema=False)
    async def show(to: str = ROOT) -> Response:
        return _page(to)

    @app.post(LOGIN_PATH, include_in_schema=False)
    async def log_in(request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        token, to = form.get("key", [""])[0].strip(), form.get("to", [ROOT])[0]
        try:
            await client.keys.context_of(token)
        except UnauthorizedError:
            return _page(to, fault="This key is not valid. It may be mistyped, revoked or expired.")
        return _welcome(request, token, to)

    @app.get(ENTER_PATH, include_in_schema=False)
    async def follow(request: Request, code: str = "") -> Response:
        # A page elsewhere may lead here to log its reader in as somebody else: only the reader's own click counts.
        if _from_elsewhere(request):
            return _ask_whether(code)
        return await enter(request, code)

    @app.post(ENTER_PATH, include_in_schema=False)
    async def confirm(request: Request) -> Response:
        code = parse_qs((await request.body()).decode("utf-8", "replace")).get("code", [""])[0]
        return _ask_whether(code) if _from_elsewhere(request) else await enter(request, code)

    async def enter(request: Request, code: str) -> Response:
        try:
            made = await client.keys.redeem(code)
        except RecollectError:
            return _page(ROOT, fault="This link was opened before, or is too old.")
        return _welcome(request, made.token, ROOT)

    @app.post(LOGOUT_PATH, include_in_schema=False)
    async def log_out(request: Request) -> Response:
        token = token_of(request)
        if token is not None:
            await client.keys.leave(token)
            doorkeeper.forget(token)
        gone = RedirectResponse(LOGIN_PATH, status_code=303)
        gone.delete_cookie(COOKIE, path=ROOT)
        return gone


def _welcome(request: Request, token: str, to: str) -> Response:
    """Off to where they wanted to go, which is here and nowhere else."""
    inside = to if to == ROOT or to.startswith((f"{ROOT}/", f"{ROOT}?")) else ROOT
    answer = RedirectResponse(inside, status_code=303)
    answer.set_cookie(
        COOKIE,
        token,
        max_age=int(VISIT_LASTS.total_seconds()),
        path=ROOT,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return answer


def _from_elsewhere(request: Request) -> bool:
    """Whether another site's page sent the browser here; browsers say so, and pages can't change it."""
    return request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}


def _ask_whether(code: str) -> Response:
    message = "<p>A page elsewhere sent you here. Log in only if you asked for this link yourself.</p>"
    return _show(message, _ASK_WHETHER.format(action=ENTER_PATH, code=escape(code, quote=True)))


def _page(to: str, *, fault: str = "") -> Response:
    message = (
        f'<p class="fault" role="alert">{escape(fault)}</p>' if fault else "<p>Log in to look around.</p>"
    )
    form = _ASK_FOR_KEY.format(action=LOGIN_PATH, to=escape(to, quote=True))
    return _show(message, form, status=401 if fault else 200)


def _show(message: str, form: str, *, status: int = 200) -> Response:
    page = _PAGE.format(message=message, form=form)
    return HTMLResponse(page, status_code=status, headers={"Cache-Control": "no-store"})
