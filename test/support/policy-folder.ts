import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino, type Logger } from 'pino';
import { createDecide, type DecideWith, type DecisionBody } from '../../apps/pdp/decide.ts';
import { type CedarEngine, openCedarEngine } from '../../apps/pdp/engine/cedar/cedar-engine.ts';
import type { PolicyPlaces } from '../../apps/pdp/engine/cedar/policy-folder.ts';
import type { PolicyEngine } from '../../apps/pdp/engine/policy-engine.ts';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import { ACCESS_REQUESTS, PDP_URL, recordingLog } from './pdp.ts';
import { systemTime } from './time.ts';

export const SCHEMA = `
type Approval = { verified: Bool, template: String };
entity Group;
entity Subject in [Group] = {
  type: String, id: String, properties: { active?: Bool, groups?: Set<String>, status?: String },
  status?: String, active?: Bool, displayName?: String, manager?: Subject,
};
entity Resource = { type: String, id: String };
action "tools/call" appliesTo { principal: Subject, resource: Resource, context: { path?: String, approval?: Approval } };
`;

/** A policy that permits a tool. */
export const permitting = (tool: string) =>
  `@id("permit-${tool}")\npermit (principal, action == Action::"tools/call", resource) when { resource.id == "${tool}" };\n`;

/** A folder of policies that a test changes. File names may include every file that a policy folder may have. */
export class PolicyFolder {
  readonly #root = mkdtempSync(join(tmpdir(), 'countersign-policies-'));
  /** The path that the decision point gets: a link, as in deployments that change a folder at once. */
  readonly path = join(this.#root, 'current');
  #made = 0;

  constructor(files: Record<string, string> = {}) {
    this.pointTo(this.make(files));
  }

  /** Another folder with these files, which takes effect when the link points to it. */
  make(files: Record<string, string>): string {
    const folder = join(this.#root, `version-${this.#made++}`);
    mkdirSync(folder);
    const all = { 'schema.cedarschema': SCHEMA, 'entities.json': '[]', 'a.cedar': permitting('a'), ...files };
    for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text);
    return folder;
  }

  pointTo(folder: string): void {
    const link = join(this.#root, 'next');
    symlinkSync(folder, link);
    renameSync(link, this.path);
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.path, name), text);
  }

  /** As editors save: into another file, which then replaces the old one. */
  replace(name: string, text: string): void {
    const other = join(this.#root, 'edited');
    writeFileSync(other, text);
    renameSync(other, join(this.path, name));
  }

  /** A file beside the folder. */
  beside(name: string, text: string): string {
    const file = join(this.#root, name);
    writeFileSync(file, text);
    return file;
  }

  clear(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** A folder that an engine follows, and what the engine logs of it. */
export class FollowedFolder extends PolicyFolder {
  readonly #recording = recordingLog();
  readonly lines = this.#recording.lines;
  /** The one that was opened last. */
  engine: CedarEngine | undefined;

  /** Opens an engine that looks at these places. */
  async open(places: PolicyPlaces, checkEveryMs: number): Promise<CedarEngine> {
    const { log } = this.#recording;
    return (this.engine = await openCedarEngine(places, { ...systemTime, log, checkEveryMs }));
  }

  async close(): Promise<void> {
    await this.engine?.close();
    this.clear();
  }
}

export const aCall = (tool: string, subject = 'agent', properties: JsonObject = {}): EvaluationRequest => ({
  subject: { type: 'identity', id: subject, properties },
  action: { name: 'tools/call' },
  resource: { type: 'tool', id: tool },
  context: {},
});

type DecideNow = (request: EvaluationRequest, requester: string) => Promise<DecisionBody>;

/**
 * Decides by the version in force, without keys and without a database. All requests of one `work` get the same
 * version.
 */
export function decidingBy(engine: Pick<PolicyEngine, 'use'>, of: Partial<DecideWith> & { log?: Logger } = {}) {
  const decide = createDecide({
    ...systemTime,
    verifyApproval: () => Promise.resolve({ kind: 'unverifiable' }),
    signBindingToken: () => Promise.resolve('unsigned'),
    evaluations: { record: () => Promise.resolve() },
    accessRequests: ACCESS_REQUESTS,
    requestCatalogsUrl: () => undefined,
    denialTtlSeconds: 600,
    url: PDP_URL,
    log: pino({ enabled: false }),
    ...of,
  });
  return <T>(work: (decide: DecideNow) => Promise<T>): Promise<T> =>
    engine.use((policies) => work((request, requester) => decide(policies, request, requester)));
}
