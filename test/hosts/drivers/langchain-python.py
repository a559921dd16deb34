import asyncio

from common import headers, sign_in, take_steps, token, url
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient


async def on_progress(*_):
    pass


async def main():
    server = {"transport": "streamable_http", "url": url, "headers": headers, **({} if token else {"auth": sign_in()})}
    client = MultiServerMCPClient({"countersign": server}, callbacks=Callbacks(on_progress=on_progress))
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def names():
        return list(tools)

    await take_steps(names, lambda name, args: tools[name].ainvoke(args))


asyncio.run(main())
