import asyncio
from pathlib import Path

from recollect import RLMOrchestrator, should_explore

TRACE = """Traceback (most recent call last):
  File "/srv/app/mail.py", line 6, in send
    return connect(server).deliver(text)
  File "/srv/app/net.py", line 3, in connect
    raise TimeoutError(server)
TimeoutError: mail.example.org
"""
Path("app").mkdir(exist_ok=True)
Path("app/net.py").write_text(
    'def connect(server):\n    """Open a connection."""\n    raise TimeoutError(server)\n'
)
Path("app/mail.py").write_text(
    'from net import connect\n\n\ndef send(server, text):\n    """Send a mail."""\n'
    "    return connect(server).deliver(text)\n"
)


async def main():
    print(should_explore("why does sending mail fail?", context_tokens=2_000, fail_count=2).explore)
    decision = should_explore("why does sending mail fail?", context_tokens=2_000, fail_count=5)
    print(decision.explore, decision.reasons)

    orchestrator = RLMOrchestrator("app", audit_dir="telemetry/rlm")
    result = await orchestrator.explore(
        "task-123",
        "Why does sending mail fail?",
        [TRACE],  # hints: paths, symbols, globs, file:line, stack traces
        max_subcalls=20,
        max_subcalls_per_iteration=8,
        timeout_seconds=60,
        preset="debugger",
    )
    print(result.success, result.stopped_by, sorted(result.files))
    for step in result.trajectory.steps:
        print(step.iteration, step.thought, [call.tool for call in step.tool_calls])

    again = await orchestrator.explore("task-124", "Why does sending mail fail?", [TRACE], preset="debugger")
    print(again.usage.subcall_count, again.usage.cache_hit_rate)


asyncio.run(main())
print(sorted(path.name for path in Path("telemetry/rlm").iterdir()))
