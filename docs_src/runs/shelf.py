import asyncio
import hashlib

from pydantic import BaseModel, Field

from recollect.domain.findings import Citation, Finding, span_hash
from recollect.runs.budget import Limits
from recollect.runs.citations import verify_findings
from recollect.runs.engine import run
from recollect.runs.environment import Observation, Tool
from recollect.runs.planners.contract import Call, Plan
from recollect.runs.synthesis import synthesise
from recollect.runs.trajectory import replay, to_json

SHELF = {
    "tides.txt": "The moon pulls the sea.\nSpring tides come twice a month.",
    "moon.txt": "The moon is 384,400 km away.\nIt turns once in 27 days.",
}


class Word(BaseModel):
    word: str = Field(min_length=1, description="what a line must hold")


class Shelf:
    name = "shelf"

    @property
    def tools(self):
        return {"grep": Tool(name="grep", description="Lines with a word.", parameters=Word, run=self.grep)}

    def content_hash(self, tool, parameters):
        return hashlib.sha256(repr(SHELF).encode()).hexdigest()

    def actions(self, query, depth, step):
        return ()  # what a planner without a model may choose from; this one brings its own plan

    async def grep(self, wanted, context):
        findings = [
            Finding(
                description=line,
                evidence=line,
                source_file=file,
                line_range=(number, number),
                citations=(
                    Citation(
                        kind="file",
                        file_path=file,
                        line_start=number,
                        line_end=number,
                        content_hash=span_hash(line),
                        quote=line,
                    ),
                ),
            )
            for file, text in SHELF.items()
            for number, line in enumerate(text.splitlines(), 1)
            if wanted.word in line
        ]
        lines = [finding.evidence for finding in findings]
        return Observation(value=lines, text="\n".join(lines), findings=tuple(findings))


class TwoWords:
    name = "two-words"

    async def plan(self, situation):
        if situation.steps:
            return Plan(thought="that was all", done=True)
        words = ("moon", "tides")
        return Plan(
            thought="look for both", calls=tuple(Call(tool="grep", parameters={"word": w}) for w in words)
        )


async def main():
    result = await run(
        "What does the moon do?",
        environment=Shelf(),
        planner=TwoWords(),
        limits=Limits(max_subcalls=10, timeout_s=5.0),
    )
    print(result.stopped_by, result.usage.subcalls)

    checked = verify_findings(result.findings, lambda kind, path: SHELF.get(path))
    answer = synthesise(checked)
    print(answer.text)
    for number, cited in enumerate(answer.citations, 1):
        print(f"[{number}] {cited.file_path}:{cited.line_start} {cited.status.value}")

    record = to_json(result)
    again = await replay(record)  # from the record alone
    print(to_json(again) == record)


asyncio.run(main())
