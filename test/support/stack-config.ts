import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packagePath } from '../../apps/shared/config/files.ts';
import { NO_MAILBOX, onFreePorts } from './config.ts';
import { PATIENT_FACTOR } from './time.ts';

export interface StackOptions {
  /**
   * `here`: in the process of the test, with shared servers. `together`: one process, as `npm start` runs it. `apart`:
   * each deployable in a separate process.
   */
  readonly parts: 'here' | 'together' | 'apart';
  /** Whether gateway and worker that run `here` connect to upstreams together, or each for itself. Default: `shared`. */
  readonly upstreams?: 'shared' | 'own';
  /** Postgres and Temporal: those of the jest run, or its own, which a test may kill. Default: `own`. */
  readonly servers?: 'own' | 'shared';
  /** The factor on time limits, for slow machines. 100 unless a test needs a limit or a lease to end. */
  readonly timeLimitFactor?: number;
  /** Merged over the defaults of the tests. */
  readonly config?: Record<string, object>;
  /** Rules, which decide alone: without the example policies. */
  readonly rules?: readonly object[];
  /** Cedar policies in addition to the examples. */
  readonly policies?: string;
  /** Further files of the policy folder. */
  readonly policyFiles?: Readonly<Record<string, string>>;
  readonly mcpServers?: Record<string, object>;
  /** Variables of a part in addition to the others. */
  readonly environments?: Readonly<Partial<Record<'gateway' | 'worker' | 'pdp' | 'up', Record<string, string>>>>;
}

/** The official server with every kind of offer, for the `mcpServers` of a stack. */
export const EVERYTHING = {
  command: process.execPath,
  args: [packagePath('node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js'), 'stdio'],
};

/** In tests one caller stands for many callers. */
const UNLIMITED = { maxCallsPerSecond: 100_000, maxPollsPerSecond: 100_000, maxSubmissionsPerMinute: 100_000 };

/**
 * Free ports for everything, short pauses, a limit on executions that no call reaches by itself, the example policies,
 * and the file server behind its recorder.
 */
export async function stackConfig(
  at: { folder: string; files: string; journal: string },
  {
    timeLimitFactor = PATIENT_FACTOR,
    config = {},
    rules,
    policies = '',
    policyFiles = {},
    mcpServers = {},
  }: StackOptions,
): Promise<Record<string, unknown>> {
  cpSync(packagePath('policies'), join(at.folder, 'policies'), { recursive: true });
  const files = { ...policyFiles, 'test.cedar': policies };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(at.folder, 'policies', name), text);
  const ports = await onFreePorts();
  const section = (name: keyof typeof ports, more: object = {}) => ({ ...ports[name], ...more, ...config[name] });
  const fileServer = packagePath('node_modules', '@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js');
  const recorder = packagePath('test', 'support', 'recording-upstream.mjs');
  return {
    timeLimitFactor,
    mcpServers: {
      files: { command: process.execPath, args: [recorder, at.journal, fileServer, at.files] },
      ...mcpServers,
    },
    gateway: section('gateway', { ...UNLIMITED, pollIntervalMs: 100, executionTimeoutSeconds: 600 }),
    worker: { resolutionPollMinSeconds: 1, resolutionPollMaxSeconds: 2, ...config['worker'] },
    ...(rules && { rules }),
    pdp: section('pdp', rules ? {} : { policies: './policies' }),
    approvals: section('approvals', { channels: NO_MAILBOX }),
    audit: section('audit'),
    identity: section('identity'),
    // In a Temporal that other tests use too, each test has its own queue.
    temporal: { taskQueue: `calls-${at.folder}`, ...config['temporal'] },
    tools: config['tools'] ?? {},
    requirements: config['requirements'] ?? {},
  };
}
