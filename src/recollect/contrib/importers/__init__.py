"""Memories from the exports of other packages: `import_from(client, "mem0", "export.json")`.

exports.py and chroma.py read files into entries (entry.py); transfer.py checks them all and stores them. An entry has
the form of a line of Recollect's own export, so that ids, times and histories are kept.
"""

from recollect.contrib.importers.transfer import SOURCES, import_from

__all__ = ["SOURCES", "import_from"]
