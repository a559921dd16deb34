import asyncio

from common import callback_port, document, take_steps, token, url
from fastmcp import Client
from fastmcp.client.auth import OAuth


async def main():
    auth = token or OAuth(client_metadata_url=document, callback_port=callback_port)
    async with Client(url, auth=auth) as client:

        async def names():
            return [tool.name for tool in await client.list_tools()]

        await take_steps(names, lambda name, args: client.call_tool(name, args, raise_on_error=False))


asyncio.run(main())
