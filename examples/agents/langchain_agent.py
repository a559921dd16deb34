"""An agent of LangChain. It stops while a call waits for an approval, and goes on later.

    npx countersign up                       # in another terminal
    pip install langchain==1.5.2 langchain-openai==1.7.4 langchain-mcp-adapters==0.3.2
    export OPENAI_API_KEY=...                # MODEL chooses another model
    export COUNTERSIGN_TOKEN=$(npx countersign token --as agent)
    python langchain_agent.py "Write 'hello' into the file hello.txt"
"""

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

COUNTERSIGN = {
    "transport": "streamable_http",
    "url": os.environ.get("COUNTERSIGN_URL", "http://127.0.0.1:4100/mcp"),
    "headers": {"Authorization": f"Bearer {os.environ['COUNTERSIGN_TOKEN']}"},
}
# With a checkpointer that writes to a database, the program can end while it is stopped, and go on a week later.
CHECKPOINTER = InMemorySaver()
THREAD = {"configurable": {"thread_id": "1"}}


async def stop_while_held(request, handler):
    """Stops the agent as long as the answer names a next step. LangGraph then makes the same call again, which joins the same request."""
    result = await handler(request)
    while (result.meta or {}).get("dev.countersign/next-step"):
        # The text says that the tool has not run, and names the page on which a person decides.
        interrupt(result.content[0].text)
        result = await handler(request)
    return result


async def main(task: str) -> None:
    client = MultiServerMCPClient({"countersign": COUNTERSIGN}, tool_interceptors=[stop_while_held])
    model = os.environ.get("MODEL", "openai:gpt-5")
    agent = create_agent(model, await client.get_tools(), checkpointer=CHECKPOINTER)
    state = await agent.ainvoke({"messages": [("user", task)]}, THREAD)
    while "__interrupt__" in state:
        print(state["__interrupt__"][0].value, flush=True)
        await asyncio.to_thread(input, "Press Enter to go on. ")
        state = await agent.ainvoke(Command(resume=True), THREAD)
    print(state["messages"][-1].text)


asyncio.run(main(sys.argv[1]))
