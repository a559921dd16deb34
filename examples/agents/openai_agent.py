"""An agent of the OpenAI Agents SDK. A call that needs an approval waits until a person has decided.

    npx countersign up                       # in another terminal
    pip install openai-agents==0.24.0 mcp==2.3.0
    export OPENAI_API_KEY=...                # OPENAI_DEFAULT_MODEL chooses another model
    export COUNTERSIGN_TOKEN=$(npx countersign token --as agent)
    python openai_agent.py "Write 'hello' into the file hello.txt"
"""

import asyncio
import os
import sys

from agents import Agent, RunHooks, Runner
from agents.mcp import MCPServerStreamableHttp

COUNTERSIGN = {
    "url": os.environ.get("COUNTERSIGN_URL", "http://127.0.0.1:4100/mcp"),
    "headers": {"Authorization": f"Bearer {os.environ['COUNTERSIGN_TOKEN']}"},
}
INSTRUCTIONS = """Some tools need the approval of a person. If an answer says that a tool has not run, do not claim that it has.
Call get_request_status with the reference until an answer says how the call ended."""


class Show(RunHooks):
    """Prints what each tool answers. For a call that still waits, that is the page on which a person decides."""

    async def on_tool_end(self, context, agent, tool, result):
        print(f"{tool.name}: {result}", flush=True)


async def main(task: str) -> None:
    # By default, the SDK gives up after 5 seconds, and a person needs longer. Without its limit, Countersign ends the wait.
    async with MCPServerStreamableHttp(params=COUNTERSIGN, client_session_timeout_seconds=None) as server:
        agent = Agent(name="Assistant", instructions=INSTRUCTIONS, mcp_servers=[server])
        # Each get_request_status is a turn.
        result = await Runner.run(agent, task, hooks=Show(), max_turns=100)
        print(result.final_output)


asyncio.run(main(sys.argv[1]))
