import { parseConfig, type Config } from '../../apps/shared/config/config.ts';
import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { PATIENT_FACTOR } from './time.ts';

const SECTIONS = ['gateway', 'pdp', 'approvals', 'audit', 'identity'] as const;
type Section = (typeof SECTIONS)[number];

/**
 * Between the choice of a port and the start of its server, another worker of the run could take the port: each worker
 * chooses from its own range.
 */
const WORKERS = 4;
const isOwn = (port: number) => port % WORKERS === Number(process.env['JEST_WORKER_ID'] ?? 0) % WORKERS;

/** A section for every server, each with a free port that no other section has. */
export async function onFreePorts(): Promise<Record<Section, { port: number }>> {
  const taken = new Set<number>();
  const another = async (): Promise<{ port: number }> => {
    const port = await freePort();
    if (taken.has(port) || !isOwn(port)) return another();
    taken.add(port);
    return { port };
  };
  const sections = await Promise.all(SECTIONS.map(async (section) => [section, await another()] as const));
  return Object.fromEntries(sections) as Record<Section, { port: number }>;
}

/** A configuration in which every server has its own free port. `raw` overrides it, section by section. */
export async function testConfig(
  at: { baseDir: string; stateDir: string },
  raw: Record<string, Record<string, unknown>> & { mode?: never; timeLimitFactor?: never } = {},
  timeLimitFactor = PATIENT_FACTOR,
): Promise<Config> {
  const ports = await onFreePorts();
  const sections = SECTIONS.map((section) => [section, { ...ports[section], ...raw[section] }]);
  return parseConfig({ timeLimitFactor, ...raw, ...Object.fromEntries(sections) }, at);
}
