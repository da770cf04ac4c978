from pathlib import Path

from recollect import Recollect

GUIDE = """# Shop API

## Tokens

Access tokens expire after 15 minutes. Use `refresh_token` to renew one.

## Rate limits

Each client may send 100 requests per minute. Beyond that the answer is 429.
"""

with Recollect() as r:
    Path("shop.md").write_text(GUIDE)
    r.library.add("shop.md", id="shop-docs", wait=True)

    result = r.oracle_consult(
        "How long until a token expires, and how many requests per minute may a client send?",
        depth_hint="thorough",
        doc_ids=["shop-docs"],
    )
    print(result.answer)
    for number, cited in enumerate(result.citations, 1):
        print(f"[{number}] {cited.file_path}, line {cited.line_start}: {cited.standing}")
    print(result.consultation.processing_mode, result.consultation.tools_used)

    # Months later, in another process: does what it cites still stand there?
    Path("shop.md").write_text(GUIDE.replace("15 minutes", "an hour"))
    r.library.add("shop.md", id="shop-docs", wait=True)
    checked = r.verify(result.document())
    print(checked.quoted, "quoted,", checked.stale, "stale")

    print(r.oracle_consult("Which colour does the warehouse paint its forklifts?").answer)
