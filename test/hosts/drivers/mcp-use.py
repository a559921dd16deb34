import asyncio

from common import callback_port, document, take_steps, token, url
from mcp_use import MCPClient


async def main():
    own = {"callback_port": callback_port, **({"client_metadata_url": document} if document else {})}
    client = MCPClient(config={"mcpServers": {"countersign": {"url": url, "auth": token or own}}})
    session = await client.create_session("countersign")

    async def names():
        return [tool.name for tool in await session.list_tools()]

    await take_steps(names, session.call_tool)
    await client.close_all_sessions()


asyncio.run(main())
