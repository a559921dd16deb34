import asyncio

from common import headers, sign_in, take_steps, token, url
from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import Implementation


async def on_progress(*_):
    pass


async def main():
    async with create_mcp_http_client(headers=headers, auth=None if token else sign_in()) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, client_info=Implementation(name="host-mcp", version="0")) as client:

            async def names():
                return [tool.name for tool in (await client.list_tools()).tools]

            await take_steps(names, lambda name, args: client.call_tool(name, args, progress_callback=on_progress))


asyncio.run(main())
