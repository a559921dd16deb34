import { createHash, randomInt } from 'node:crypto';
import { parseConfig, type Config } from '../../apps/shared/config/config.ts';
import { tryPort } from '../../apps/shared/embedded/process-tools.ts';
import { RUN_FOLDER } from './run-folder.mjs';
import { PATIENT_FACTOR } from './time.ts';

const SECTIONS = ['gateway', 'pdp', 'approvals', 'audit', 'identity'] as const;
type Section = (typeof SECTIONS)[number];

/**
 * Above 10080, which `fetch` refuses as the port of another protocol (Fetch, section 2.9). Servers that choose a port themselves, as the
 * product's databases do, choose above.
 */
const PORTS = { from: 10_096, to: 20_000 } as const;
/** Each worker of a run has ports of its own, and most runs on a machine have others than the rest. */
const WORKERS = 4;
const RUNS = 4;
const SHARES = RUNS * WORKERS;
const run = createHash('sha256')
  .update(process.env[RUN_FOLDER] ?? '')
  .digest()
  .readUInt8();
const share = (run % RUNS) * WORKERS + (Number(process.env['JEST_WORKER_ID'] ?? 0) % WORKERS);
const given = new Set<number>();

/** Between the choice of a port and the start of its server, no other server of the run takes it. */
async function ownPort(): Promise<number> {
  const port = PORTS.from + randomInt((PORTS.to - PORTS.from) / SHARES) * SHARES + share;
  if (given.has(port)) return ownPort();
  given.add(port);
  return tryPort(port).catch(ownPort);
}

/** Most tests are not about messages to people, so nothing is told. */
export const NO_MAILBOX = { mailbox: false };

/** A section for every server, each with a free port that no other section has. */
export async function onFreePorts(): Promise<Record<Section, { port: number }>> {
  const sections = await Promise.all(SECTIONS.map(async (section) => [section, { port: await ownPort() }] as const));
  return Object.fromEntries(sections) as Record<Section, { port: number }>;
}

/** A configuration in which every server has its own free port. `raw` overrides it, section by section. */
export async function testConfig(
  at: { baseDir: string; stateDir: string },
  raw: Record<string, Record<string, unknown>> & { mode?: never; timeLimitFactor?: never } = {},
  timeLimitFactor = PATIENT_FACTOR,
): Promise<Config> {
  const ports = await onFreePorts();
  const given: typeof raw = { ...raw, approvals: { channels: NO_MAILBOX, ...raw['approvals'] } };
  const sections = SECTIONS.map((section) => [section, { ...ports[section], ...given[section] }]);
  return parseConfig({ timeLimitFactor, ...raw, ...Object.fromEntries(sections) }, at);
}
