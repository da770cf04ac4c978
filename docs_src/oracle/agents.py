from pathlib import Path

from recollect import Recollect
from recollect.runs.roles import get_role

GUIDE = """# Forms

## Uploads

An upload handler must check the size of a file before it reads it. The limit is 10 MB.

## Drafts

A draft is saved every thirty seconds, and only when it changed.
"""
CODE = '''def save_upload(file):
    """Save an upload."""
    return file.read()
'''

with Recollect() as r:
    Path("forms.md").write_text(GUIDE)
    Path("project").mkdir(exist_ok=True)
    Path("project/uploads.py").write_text(CODE)
    r.library.add("forms.md", id="forms-docs", wait=True)

    for name, problem in (
        ("architect", "How often is a draft saved?"),
        ("reviewer", "Does the upload handler check the size of a file before it reads it?"),
        ("spec builder", "What is the limit of an upload?"),
    ):
        recipe = get_role(name)
        arguments = recipe.ask(
            problem, doc_ids=["forms-docs"], working_dir="project", files=["*.py"], workflow="PROJ-456"
        )
        result = r.oracle_consult(**arguments)
        first = result.citations[0]
        print(f"{name} ({recipe.depth_hint}): {first.file_path}:{first.line_start} {first.quote}")

    print([(record.agent, record.workflow) for record in r.consultations.list(limit=3)])
