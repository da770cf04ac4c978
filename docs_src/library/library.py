from pathlib import Path

from recollect import Recollect

GUIDE = """# Acme API

## Tokens

Access tokens expire after thirty minutes. A refresh token lasts a week.

## Errors

A request that comes too fast is answered with status 429.
"""

with Recollect() as r:
    Path("acme.md").write_text(GUIDE)
    report = r.library.add("acme.md", id="acme-docs", tags=["api"])
    print(report.outcome, report.document.name, [s.path for s in r.library.sections("acme-docs")])

    best = r.library.search("how long until a token runs out?")[0]
    print(f"{best.document}, lines {best.lines[0]} to {best.lines[1]}, {best.path}:")
    print(best.quote)

    # Only what changed is embedded again.
    Path("acme.md").write_text(GUIDE.replace("a week", "a month"))
    report = r.library.add("acme.md", id="acme-docs")
    print(report.outcome, report.embedded, "embedded,", report.kept, "sections kept")

    receipt = r.library.remove("acme-docs")
    print(receipt.rows["document"], "document erased")
