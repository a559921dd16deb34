import { connectClients, type CallTool } from './mcp-caller.ts';
import { measure, medianRound, type Sample } from './stats.ts';

export interface AllowPath {
  readonly callers: number;
  readonly direct: Sample;
  readonly gateway: Sample;
}

const ROUNDS = 5;

/**
 * A call that policy allows, made directly and through the gateway by the same client against the same upstream. The two
 * take turns within the run, so that a machine that slows down slows both.
 */
export async function measureAllowPath(
  at: { directUrl: string; gatewayUrl: string; token: string },
  { callers, callsPerRound }: { callers: number; callsPerRound: number },
): Promise<AllowPath> {
  const direct = await connectClients(at.directUrl, callers);
  const gateway = await connectClients(at.gatewayUrl, callers, at.token);
  const round = (clients: { callers: CallTool[] }, tool: string) =>
    measure({ count: callsPerRound, callers }, (index) => {
      const call = clients.callers[index % callers];
      if (call === undefined) throw new Error('no such caller');
      return call(tool, { message: `hello ${index}` });
    });
  try {
    await round(direct, 'echo');
    await round(gateway, 'everything__echo');
    const samples = { direct: [] as Sample[], gateway: [] as Sample[] };
    for (let turn = 0; turn < ROUNDS; turn += 1) {
      samples.direct.push(await round(direct, 'echo'));
      samples.gateway.push(await round(gateway, 'everything__echo'));
    }
    return { callers, direct: medianRound(samples.direct), gateway: medianRound(samples.gateway) };
  } finally {
    await direct.close();
    await gateway.close();
  }
}
