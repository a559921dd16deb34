import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startStack, type Stack } from '../support/stack.ts';
import { measureAllowPath } from './allow-path.ts';
import { startEverythingServer } from './everything-server.ts';
import { measureApprovalToTool, measureHandle, measureOpening } from './gated-calls.ts';
import { startLedger } from './ledger-server.ts';
import { printReport, type Figure } from './report.ts';
import { measureTemporalFloor } from './temporal-floor.ts';

const HELP = `Measures the product against floors that are measured in the same run, and prints the ratios.

  npm run bench                 everything, about two minutes
  npm run bench -- --quick      fewer calls, for a first look
  npm run bench -- --json       figures as JSON on stdout
`;

const POLICY = `
@id("bench-note") @requestable("operator_approval") @reason("approval_required")
permit (principal, action == Action::"tools/call", resource)
when { resource.id == "ledger__note" && context has approval && context.approval.verified
  && context.approval.template == "operator_approval" };
`;

const IDLE_BEFORE_MEMORY_MS = 10_000;

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
});
if (options.help) process.stdout.write(HELP);
else await main(options.quick ? 0.2 : 1);

/** `scale`: 1 for the whole measurement, less for fewer calls. */
async function main(scale: number): Promise<void> {
  const progress = (what: string) => process.stderr.write(`${what} …\n`);
  progress('starting the product, server-everything and a ledger');
  const everything = await startEverythingServer();
  const ledger = await startLedger();
  const stack = await startStack({
    parts: 'together',
    policies: POLICY,
    mcpServers: { everything: { url: everything.url }, ledger: { url: ledger.url } },
    config: { gateway: { maxOpenPerCaller: 100_000 } },
  });
  try {
    const figures: Figure[] = [];
    progress('memory');
    await pause(IDLE_BEFORE_MEMORY_MS);
    figures.push(memoryFigure(stack));
    const at = { directUrl: everything.url, gatewayUrl: stack.config.urls.mcp, token: await stack.token('agent') };
    for (const callers of [1, 16]) {
      progress(`allow path, ${callers} ${callers === 1 ? 'caller' : 'callers'}`);
      figures.push(
        ...allowFigures(await measureAllowPath(at, { callers, callsPerRound: scaled(callers === 1 ? 300 : 800) })),
      );
    }
    progress('call to task handle');
    figures.push(...(await gatedFigures(stack)));
    progress('approval to tool, and the bare Temporal floor');
    const floor = await measureTemporalFloor(temporalAddress(stack), scaled(50));
    const approval = await measureApprovalToTool(stack, ledger, scaled(50));
    figures.push({
      name: 'approval → tool invoked, p50',
      value: approval.p50 / floor.p50,
      unit: '× bare signal → activity',
      target: '≤ 3',
      met: approval.p50 <= 3 * floor.p50,
      detail: `${ms(approval.p50)} against ${ms(floor.p50)}; p99 ${ms(approval.p99)} against ${ms(floor.p99)}`,
    });
    printReport(figures, { json: options.json === true });
  } finally {
    await stack.stop();
    await ledger.close();
    await everything.stop();
  }

  function scaled(count: number): number {
    return Math.max(10, Math.round(count * scale));
  }

  async function gatedFigures(of: Stack): Promise<Figure[]> {
    await measureHandle(of, scaled(50));
    const handle = await measureHandle(of, scaled(200));
    const opening = await measureOpening(of, scaled(1_000));
    return [
      {
        name: 'call → task handle, p50',
        value: handle.p50,
        unit: 'ms',
        target: '≤ 30',
        met: handle.p50 <= 30,
        detail: `p99 ${ms(handle.p99)}, one caller`,
      },
      {
        name: 'gated calls opened',
        value: opening.perSecond,
        unit: 'per second',
        target: '≥ 100',
        met: opening.perSecond >= 100,
        detail: `16 callers, ${opening.count} calls, p50 ${ms(opening.p50)}`,
      },
    ];
  }
}

function allowFigures({ callers, direct, gateway }: Awaited<ReturnType<typeof measureAllowPath>>): Figure[] {
  const who = callers === 1 ? '1 caller' : `${callers} callers`;
  const p50 = gateway.p50 / direct.p50;
  const throughput = gateway.perSecond / direct.perSecond;
  return [
    {
      name: `allow path p50, ${who}`,
      value: p50,
      unit: '× direct',
      ...(callers === 1 && { target: '≤ 4', met: p50 <= 4 }),
      detail: `${ms(gateway.p50)} against ${ms(direct.p50)}; p99 ${ms(gateway.p99)} against ${ms(direct.p99)} (${(gateway.p99 / direct.p99).toFixed(1)} ×)`,
    },
    {
      name: `allow path throughput, ${who}`,
      value: throughput,
      unit: '× direct',
      ...(callers === 16 && { target: '≥ 0.5', met: throughput >= 0.5 }),
      detail: `${gateway.perSecond.toFixed(0)}/s against ${direct.perSecond.toFixed(0)}/s`,
    },
  ];
}

function memoryFigure(stack: Stack): Figure {
  const status = readFileSync(`/proc/${stack.pid('up')}/status`, 'utf8');
  const megabytes = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
  return {
    name: 'memory of all deployables in one process, idle',
    value: megabytes,
    unit: 'MB resident',
    target: '< 400',
    met: megabytes < 400,
    detail: 'without Postgres, Temporal and the upstream servers, which are processes of their own',
  };
}

function temporalAddress(stack: Stack): string {
  const { port } = JSON.parse(readFileSync(join(stack.stateDir, 'temporal', 'server.json'), 'utf8')) as {
    port: number;
  };
  return `127.0.0.1:${port}`;
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} ms`;
}
