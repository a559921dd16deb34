import { connectClients, type CallTool } from './mcp-caller.ts';
import { measure, type Sample } from './stats.ts';

/** The same calls, made directly, then through a proxy that does not inspect them, then through the gateway. */
export interface Turn {
  readonly direct: Sample;
  readonly proxy: Sample;
  readonly gateway: Sample;
}

const TURNS = 13;
/**
 * A service runs for weeks, so the warm-up of compilers in its first thousands of calls must end before the
 * measurement.
 */
const WARM_UP_TURNS = 3;

/**
 * A call that policy allows, made directly, through the proxy and through the gateway by the same client against the
 * same upstream. The three take turns, and the ratios are those of one turn: a machine that slows down during the run
 * slows all three.
 */
export async function measureAllowPath(
  at: { directUrl: string; proxyUrl: string; gatewayUrl: string; token: string },
  { callers, callsPerTurn }: { callers: number; callsPerTurn: number },
): Promise<Turn[]> {
  const direct = await connectClients(at.directUrl, callers);
  const proxy = await connectClients(at.proxyUrl, callers);
  const gateway = await connectClients(at.gatewayUrl, callers, at.token);
  const round = (clients: { callers: CallTool[] }, tool: string) =>
    measure({ count: callsPerTurn, callers }, (index, caller) => {
      const call = clients.callers[caller];
      if (call === undefined) throw new Error('no such caller');
      return call(tool, { message: `hello ${index}` });
    });
  try {
    const turns: Turn[] = [];
    for (let turn = 0; turn < WARM_UP_TURNS + TURNS; turn += 1) {
      turns.push({
        direct: await round(direct, 'echo'),
        proxy: await round(proxy, 'echo'),
        gateway: await round(gateway, 'everything__echo'),
      });
    }
    return turns.slice(WARM_UP_TURNS);
  } finally {
    await direct.close();
    await proxy.close();
    await gateway.close();
  }
}
