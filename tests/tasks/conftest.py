"""The doors that the tasks go through: the command line, a server, MCP's official client, and a browser."""

from __future__ import annotations

from tests.cli.conftest import _logging_as_it_was, cli, cli_environ, newcomer
from tests.surfaces.conftest import http, serve, served_root, server
from tests.surfaces.dashboard.conftest import browser, chromium, dashboard, visit, window
from tests.surfaces.mcp.test_mcp import talk

__all__ = [
    "_logging_as_it_was",
    "browser",
    "chromium",
    "cli",
    "cli_environ",
    "dashboard",
    "http",
    "newcomer",
    "serve",
    "served_root",
    "server",
    "talk",
    "visit",
    "window",
]
