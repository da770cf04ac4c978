"""The MCP surface: six tools and two kinds of resources, over stdio and streamable HTTP. Needs the `mcp` extra.

server.py puts it together, tools.py makes the tools of the client's verbs, words.py says results in words for models.
"""
