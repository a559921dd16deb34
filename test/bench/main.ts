import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { residentBytes } from '../support/resident-bytes.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { measureAllowPath, type Turn } from './allow-path.ts';
import { startBareProxy, startEverythingServer } from './everything-server.ts';
import { measureApprovalToTool, measureHandle, measureOpening, warmUpOpening, type Opening } from './gated-calls.ts';
import { startLedger, type Ledger } from './ledger-server.ts';
import { printReport, type Figure } from './report.ts';
import type { StackOptions } from '../support/stack-config.ts';
import { middleOf, type Sample } from './stats.ts';
import { measureTemporalFloor, type TemporalFloor } from './temporal-floor.ts';

const HELP = `Measures the product against floors that are measured in the same run, and prints the ratios.

  npm run bench                 everything, about five minutes
  npm run bench -- --quick      fewer calls, for a first look
  npm run bench -- --json       figures as JSON on stdout
`;

const POLICY = `
@id("bench-note") @requestable("operator_approval") @reason("approval_required")
permit (principal, action == Action::"tools/call", resource)
when { resource.id == "ledger__note" && context has approval && context.approval.verified
  && context.approval.template == "operator_approval" };
`;

const {
  values: { quick, json, help },
} = parseArgs({ options: { quick: { type: 'boolean' }, json: { type: 'boolean' }, help: { type: 'boolean' } } });

/** Each caller that opens calls is a separate agent, because the number of open calls of one agent is limited. */
const AGENTS = Array.from({ length: 16 }, (_, index) => ({
  name: `agent-${index + 1}`,
  displayName: `Agent ${index + 1}`,
  roles: ['agent' as const],
}));

const PEOPLE = [
  { name: 'agent', displayName: 'Demo agent', roles: ['agent' as const] },
  { name: 'alice', displayName: 'Alice Approver', roles: ['approver' as const] },
  ...AGENTS,
];

const IDLE_BEFORE_MEMORY_MS = 10_000;

const progress = (what: string) => process.stderr.write(`${what} …\n`);

/** `scale`: 1 for the whole measurement, less for fewer calls. */
async function main(scale: number): Promise<void> {
  const everything = await startEverythingServer();
  const proxy = await startBareProxy(progress);
  const ledger = await startLedger();
  const options = {
    timeLimitFactor: 1,
    policies: POLICY,
    mcpServers: { everything: { url: everything.url }, ledger: { url: ledger.url } },
    // The product's own pauses apply here; the stack of the tests has shorter ones.
    config: {
      gateway: { maxOpenPerCaller: 100_000 },
      worker: { resolutionPollMinSeconds: 30, resolutionPollMaxSeconds: 600 },
      identity: { people: PEOPLE },
    },
  };
  try {
    const figures = [
      await withStack({ ...options, parts: 'together' }, memoryFigures),
      await withStack({ ...options, parts: 'apart' }, (stack) =>
        timeFigures(stack, { everything, proxy, ledger, scale }),
      ),
    ].flat();
    printReport(figures, { json: json === true });
  } finally {
    await ledger.close();
    await proxy.stop();
    await everything.stop();
  }
}

async function withStack(options: StackOptions, measure: (stack: Stack) => Promise<Figure[]>): Promise<Figure[]> {
  progress(
    `starting the product, ${options.parts === 'apart' ? 'each part a process, as in production' : 'in one process'}`,
  );
  const stack = await startStack(options);
  try {
    return await measure(stack);
  } finally {
    await stack.stop();
  }
}

interface Beside {
  readonly everything: { readonly url: string };
  readonly proxy: { readonly url: string };
  readonly ledger: Ledger;
  readonly scale: number;
}

async function timeFigures(stack: Stack, { everything, proxy, ledger, scale }: Beside): Promise<Figure[]> {
  const scaled = (count: number) => Math.max(10, Math.round(count * scale));
  const figures: Figure[] = [];
  const agents = AGENTS.map(({ name }) => name);
  progress('warming up');
  await warmUpOpening(stack, agents, scaled(1_500));
  const at = {
    ...{ directUrl: everything.url, proxyUrl: proxy.url, gatewayUrl: stack.config.urls.mcp },
    token: await stack.token('agent'),
  };
  for (const callers of [1, 16]) {
    progress(`allow path, ${callers} ${callers === 1 ? 'caller' : 'callers'}`);
    const counts = { callers, callsPerTurn: scaled(callers === 1 ? 200 : 1_000) };
    figures.push(...allowFigures(callers, await measureAllowPath(at, counts)));
  }
  progress('approval to tool, and the bare Temporal floor');
  // Each is warmed up first, as the allow path is: compilation has a large share in the first dozens of calls.
  await measureApprovalToTool(stack, ledger, scaled(40));
  const approval = await measureApprovalToTool(stack, ledger, scaled(60));
  figures.push(...approvalFigures(approval, await measureTemporalFloor(temporalAddress(stack), scaled(60))));
  progress('call to task handle');
  const handle = await measureHandle(stack, scaled(200));
  // The measurement takes less than half a minute, so no call gets its first look meanwhile, which would be extra work.
  progress('gated calls opened per second');
  return [...figures, ...openingFigures(handle, await measureOpening(stack, agents, scaled(1_000)))];
}

function approvalFigures(approval: Sample, { started, roundTrip }: TemporalFloor): Figure[] {
  const against = (floor: Sample) =>
    `${ms(approval.p50)} against ${ms(floor.p50)}; p99 ${ms(approval.p99)} against ${ms(floor.p99)}`;
  return [
    {
      name: 'approval → tool invoked, p50',
      value: approval.p50 / roundTrip.p50,
      unit: '× bare signal → activity → result',
      target: '≤ 3',
      met: approval.p50 <= 3 * roundTrip.p50,
      detail: against(roundTrip),
    },
    {
      name: 'the same, one way',
      value: approval.p50 / started.p50,
      unit: '× bare signal → activity started',
      detail: against(started),
    },
  ];
}

function openingFigures(handle: Sample, opening: Opening): Figure[] {
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
      detail: `16 agents, ${opening.count} calls, p50 ${ms(opening.p50)}; ${ms(opening.lagMs)} later all workflows were started`,
    },
  ];
}

/** The comparisons: the product with a direct call, and both with the cost of any process in between. */
const COMPARED = [
  { name: 'allow path', of: 'gateway', against: 'direct' },
  { name: 'mcp-proxy', of: 'proxy', against: 'direct' },
  { name: 'allow path', of: 'gateway', against: 'proxy' },
] as const;

function allowFigures(callers: number, turns: readonly Turn[]): Figure[] {
  const who = callers === 1 ? '1 caller' : `${callers} callers`;
  return COMPARED.flatMap(({ name, of, against }) => {
    const slowdown = (turn: Turn) => turn[of].p50 / turn[against].p50;
    const share = (turn: Turn) => turn[of].perSecond / turn[against].perSecond;
    const byTime = middleOf(turns, slowdown);
    const byRate = middleOf(turns, share);
    const [slow, fast] = [byTime[of], byTime[against]];
    const hasTarget = of === 'gateway' && against === 'direct';
    const unit = `× ${against === 'proxy' ? 'mcp-proxy' : against}`;
    return [
      {
        ...{ name: `${name} p50, ${who}`, value: slowdown(byTime), unit },
        ...(hasTarget && callers === 1 && { target: '≤ 4', met: slowdown(byTime) <= 4 }),
        detail: `${ms(slow.p50)} against ${ms(fast.p50)}; p99 ${ms(slow.p99)} against ${ms(fast.p99)} (${(slow.p99 / fast.p99).toFixed(1)} ×)`,
      },
      {
        ...{ name: `${name} throughput, ${who}`, value: share(byRate), unit },
        ...(hasTarget && callers === 16 && { target: '≥ 0.5', met: share(byRate) >= 0.5 }),
        detail: `${byRate[of].perSecond.toFixed(0)}/s against ${byRate[against].perSecond.toFixed(0)}/s`,
      },
    ];
  });
}

async function memoryFigures(stack: Stack): Promise<Figure[]> {
  progress('memory');
  await pause(IDLE_BEFORE_MEMORY_MS);
  const megabytes = residentBytes(stack.pid('up')) / 1_024 / 1_024;
  return [
    {
      name: 'memory of all deployables in one process, idle',
      value: megabytes,
      unit: 'MB resident',
      target: '< 400',
      met: megabytes < 400,
      detail: 'without Postgres, Temporal and the upstream servers, which are processes of their own',
    },
  ];
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

if (help) process.stdout.write(HELP);
else await main(quick ? 0.2 : 1);
