import type { Logger } from 'pino';
import { type JsonObject, ownProperty } from '../../../workflows/domain/canonical-json.ts';
import type { CallBinding } from '../../../workflows/domain/gated-call/call-binding.ts';
import { subjectKey } from '../../../workflows/domain/principal.ts';
import type { Accepted } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import {
  canonicalAnswer,
  copiedArguments,
  dryRunArguments,
  type Preview,
  type PreviewFault,
  type PreviewSetting,
} from '../../../workflows/domain/tools/preview.ts';
import type { RequirementChecks } from '../../../workflows/domain/tools/requirements.ts';
import type { InvocationResult, Upstreams, UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import { orAborted, timeLimit } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import { sha256 } from '../../shared/crypto.ts';
import type { RateLimit } from '../../shared/http/address-limit.ts';
import type { Timing } from '../../shared/limits.ts';
import type { ArgumentChecks } from '../../shared/schemas/schema-check.ts';
import { PREVIEW_META } from '../wire/identifiers.ts';
import { shownParts } from './preview-parts.ts';
import type { Redaction } from './redaction.ts';

export interface PreviewDeps extends Timing {
  readonly upstreams: Pick<Upstreams, 'find' | 'call'>;
  readonly accepted: Accepted;
  readonly requirements: Pick<RequirementChecks, 'check'>;
  readonly redaction: Pick<Redaction, 'withholds'>;
  readonly argumentChecks: Pick<ArgumentChecks, 'check'>;
  /** Of previews, for each subject. */
  readonly rate: Pick<RateLimit, 'take'>;
  readonly config: Pick<Config, 'tools'>;
  readonly log: Logger;
}

/** Previews of held calls, for their approvers alone. */
export interface Previews {
  /** Whether the operator states how to preview calls of this tool. */
  has(tool: string): boolean;
  /**
   * What the server says would happen. Takes no longer than its limit, and never rejects. `undefined` for a tool without a preview. It runs
   * with our own credential and never with an approval, a claim or a permit: whether it changes anything is the operator's word alone.
   */
  take(binding: CallBinding, signal: AbortSignal): Promise<Preview | undefined>;
  /** The same for a call that is on hold, because an approver asks. It does not count for the limit of the caller, who did not ask. */
  takeAgain(binding: CallBinding, signal: AbortSignal): Promise<Preview | undefined>;
}

export function createPreviews(deps: PreviewDeps): Previews {
  const { config, rate } = deps;
  const settingOf = (tool: string) => ownProperty(config.tools, tool)?.preview;
  const take = async (binding: CallBinding, signal: AbortSignal, isWithinLimit: () => Promise<boolean>) => {
    const setting = settingOf(binding.tool);
    return setting && within(deps, binding, { setting, signal, isWithinLimit });
  };
  return {
    has: (tool) => settingOf(tool) !== undefined,
    take: (binding, signal) =>
      take(binding, signal, async () => (await rate.take(subjectKey(binding.caller))) === undefined),
    takeAgain: (binding, signal) => take(binding, signal, async () => true),
  };
}

/** A preview within the limit on its time, or the reason why there is none. Never rejects. */
async function within(
  deps: PreviewDeps,
  binding: CallBinding,
  { setting, ...of }: Omit<Asked, 'tool'>,
): Promise<Preview> {
  const { clock, limits, log } = deps;
  const tool = 'tool' in setting ? setting.tool : binding.tool;
  const fixed = 'tool' in setting ? setting.arguments : { [setting.dryRun.argument]: setting.dryRun.value };
  const limit = timeLimit(clock, limits.previewMs, of.signal);
  const taken = await orAborted(ask(deps, binding, { ...of, tool, setting, signal: limit.signal }), limit.signal)
    .catch((err: unknown) => {
      if (!limit.signal.aborted) log.warn({ tool, err }, 'a preview could not be taken');
      return limit.signal.aborted ? ('late' as const) : ('unreachable' as const);
    })
    .finally(limit.end);
  const about = { tool, takenAt: new Date(clock.now()).toISOString(), fixed };
  const preview = typeof taken === 'string' ? { ...about, fault: taken } : { ...about, ...taken };
  note(log, binding, preview);
  return preview;
}

type Taken = Pick<Preview, 'said' | 'parts' | 'isCut'>;

interface Asked {
  readonly tool: string;
  readonly setting: PreviewSetting;
  readonly signal: AbortSignal;
  readonly isWithinLimit: () => Promise<boolean>;
}

async function ask(deps: PreviewDeps, binding: CallBinding, asked: Asked): Promise<Taken | PreviewFault> {
  const { upstreams, redaction, argumentChecks } = deps;
  if (!(await asked.isWithinLimit())) return 'too_many';
  const tool = await find(deps, binding, asked);
  if (tool === undefined) return 'not_accepted';
  if (redaction.withholds(tool.facts)) return 'withheld';
  const args = argumentsOf(tool, binding, asked.setting);
  if (args === undefined) return 'no_dry_run';
  if ((await argumentChecks.check(tool, args)) !== undefined) return 'unfit';
  if (!(await isMet(deps, binding, tool))) return 'unmet';
  asked.signal.throwIfAborted();
  const answer = await upstreams.call(
    {
      // No caller: a credential in the caller's name would let the server take this for an act of the caller.
      ...{ upstream: tool.upstream, upstreamTool: tool.upstreamName, toolDigest: tool.digest, arguments: args },
      meta: { [PREVIEW_META]: true },
      ...(tool.connection !== undefined && { connection: tool.connection }),
    },
    { signal: asked.signal },
  );
  return takenFrom(answer);
}

/** The tool that is asked, if it is described as accepted. A dry run has to be of the very tool that the call is bound to. */
async function find({ upstreams, accepted }: PreviewDeps, { tool: held, ...binding }: CallBinding, asked: Asked) {
  const tool = await upstreams.find(asked.tool);
  if (tool === undefined || tool.upstream !== binding.upstream) return undefined;
  if (tool.name === held && tool.digest !== binding.toolDigest) return undefined;
  return (await accepted.among([tool]))[0];
}

function argumentsOf(
  { definition }: UpstreamTool,
  binding: Pick<CallBinding, 'arguments'>,
  setting: PreviewSetting,
): JsonObject | undefined {
  const args = JSON.parse(binding.arguments) as JsonObject;
  if ('tool' in setting) return copiedArguments(args, setting);
  return dryRunArguments(definition['inputSchema'], args, setting.dryRun);
}

async function isMet(
  { requirements: checks }: PreviewDeps,
  { caller, claims = {} }: CallBinding,
  { name, facts: { requirements } }: UpstreamTool,
): Promise<boolean> {
  if (requirements.length === 0) return true;
  const { unmet, undecided } = await checks.check({ requirements, tool: name, caller, claims });
  return unmet.length === 0 && undecided.length === 0;
}

function takenFrom(answer: InvocationResult): Taken | PreviewFault {
  switch (answer.kind) {
    case 'not_sent':
      // The description changed on the way.
      return answer.cause === 'ERR_CALL_BINDING_MISMATCH' ? 'not_accepted' : 'unreachable';
    case 'no_answer':
      return 'unreachable';
    case 'error': {
      if (answer.isOurs) return 'unreadable';
      const { code, message, data = null } = answer;
      return said({ code, message, data }, { isError: true, shown: { content: [{ type: 'text', text: message }] } });
    }
    case 'result':
      return said(answer.result, { isError: answer.isError, shown: answer.result });
  }
}

function said(whole: JsonObject, { isError, shown }: { isError: boolean; shown: JsonObject }): Taken | PreviewFault {
  const canonical = canonicalAnswer(whole);
  if (canonical === undefined) return 'unreadable';
  const digest = `sha-256:${sha256(canonical)}`;
  return { said: { isError, digest, bytes: Buffer.byteLength(canonical) }, ...shownParts(shown) };
}

/** A preview is no call: it has a line of its own, and no call is counted for it. */
function note(log: Logger, { tool: of, caller }: CallBinding, { tool, said: answered, fault }: Preview): void {
  const { subject, clientId } = caller;
  const outcome = fault ?? (answered?.isError ? 'tool_error' : 'result');
  log.info({ audit: 'preview', tool, of, subject, clientId, outcome }, 'a preview of a held call was taken');
}
