"""The MCP surface: six tools and two kinds of resources, over stdio and streamable HTTP. Needs the `mcp` extra.

server.py offers the tools of surfaces/tools.py, words.py says results in words for models.
"""
