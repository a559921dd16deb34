import { expect, it } from '@jest/globals';
import type { Client, JSONRPCMessage } from '@modelcontextprotocol/client';
import { rawDispatchOver } from '../../../apps/cli/demo/agent.ts';

it('sends no request for a caller that has gone', async () => {
  const sent: JSONRPCMessage[] = [];
  const transport = { send: async (message: JSONRPCMessage) => void sent.push(message) };
  const dispatch = rawDispatchOver({ transport } as unknown as Client);
  const options = { signal: AbortSignal.abort() } as never;
  await expect(dispatch({ method: 'tools/call' }, options)).rejects.toThrow('the request was given up');
  expect(sent).toEqual([]);
});
