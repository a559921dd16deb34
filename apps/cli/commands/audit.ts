import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import * as z from 'zod';
import { TERMINAL_STATES } from '../../../workflows/domain/gated-call/outcome-record.ts';
import type { Config } from '../../shared/config/config.ts';
import { loadDevelopmentSecrets } from '../../shared/config/development-secrets.ts';
import { CliError, type Io, json, moment, readConfig, table } from '../context.ts';
import { openApi } from '../api.ts';
import { findOutcomeRecord, findRecordsOfCall, isReliable, outcomeInWords, outcomeSummary } from '../outcome-record.ts';

const page = z.object({
  items: z.array(outcomeSummary),
  nextCursor: z.string().optional(),
  previousCursor: z.string().optional(),
});

interface Options {
  readonly as?: string;
  readonly json?: boolean;
}
const FILTERS = ['state', 'tool', 'requester', 'callDigest', 'from', 'until', 'limit', 'cursor', 'before'] as const;
type ListOptions = Options & Partial<Record<(typeof FILTERS)[number], string>>;

/** `audit`: shows outcome records, as an auditor. */
export function auditCommand(io: Io): Command {
  const signedIn = async (options: Options, command: Command) => {
    const { config } = readConfig(io, command);
    const { api, urls } = await openApi(io, config, { audience: 'audit', name: options.as, role: 'auditor' });
    return { api, url: urls.audit, digestOf: (text: string) => callDigestOf(io, config, text) };
  };
  const audit = new Command('audit').description('show outcome records, as an auditor');
  const add = (name: string, description: string) =>
    audit
      .command(name)
      .description(description)
      .option('--as <name>', 'act as this auditor (default: the first auditor of the configuration)')
      .option('--json', 'print JSON');
  add('list', 'list outcome records, newest first')
    .addOption(new Option('--state <state>', 'only calls that ended like this').choices(TERMINAL_STATES))
    .option('--tool <name>', 'public name of the tool')
    .option('--requester <subject>', 'subject of the caller')
    .option('--call-digest <digest>', 'digest of the call')
    .option('--from <when>', 'first day (UTC) or instant, inclusive')
    .option('--until <when>', 'last day (UTC), inclusive, or an instant, exclusive')
    .option('--limit <n>', 'highest number of records, at most 200')
    .option('--cursor <cursor>', 'older records, after the end of the previous page')
    .option('--before <cursor>', 'newer records, before the start of the next page')
    .action(async (options: ListOptions, command: Command) => {
      const { api, digestOf } = await signedIn(options, command);
      const { callDigest } = options;
      const named = { ...options, callDigest: callDigest && ((await digestOf(callDigest)) ?? callDigest) };
      const filters = FILTERS.flatMap((name) => (named[name] === undefined ? [] : [[name, named[name]]]));
      const query = new URLSearchParams(filters).toString();
      showList(io, options, await api.get(`/outcome-records?${query}`, page));
    });
  add('show', 'show a record, with the answers to the five questions of an audit')
    .argument('<id>', 'task id, decision or evaluation id, call digest, or outcome reference')
    .action(async (id: string, options: Options, command: Command) => {
      const { api, url, digestOf } = await signedIn(options, command);
      const callDigest = await digestOf(id);
      const found =
        callDigest === undefined ? [await findOutcomeRecord(api, id)] : await findRecordsOfCall(api, callDigest);
      if (options.json) io.out(json(found.length === 1 ? found[0] : { items: found }));
      else io.out(found.map((one) => outcomeInWords(one, url)).join('\n\n'));
      if (found.some((one) => !isReliable(one)))
        throw new CliError('the record is not reliable; see the contradictions and the seal above');
    });
  return audit;
}

function showList(io: Io, options: Options, found: z.infer<typeof page>): void {
  const { items, nextCursor, previousCursor } = found;
  if (options.json) return io.out(json(found));
  if (items.length === 0) return io.err('No record matches.');
  const rows = items.map((one) => [
    moment(one.recordedAt),
    one.state,
    one.tool,
    one.requester,
    one.taskId,
    one.sealIntact ? 'intact' : 'BROKEN',
  ]);
  io.out(table(['RECORDED', 'STATE', 'TOOL', 'FOR', 'TASK', 'SEAL'], rows));
  if (previousCursor !== undefined) io.err(`For newer records, add --before ${previousCursor}`);
  if (nextCursor !== undefined) io.err(`For older records, add --cursor ${nextCursor}`);
}

const KEYED = /^hmac-sha-256:[0-9a-f]{64}$/;
const PLAIN = /^(?:sha-256:)?([0-9a-f]{64})$/;

/**
 * Turns the digest of a call into the keyed digest of its records. Anyone who has the arguments can compute the plain digest. Returns
 * `undefined` for a text that is not a digest. The audit service takes only keyed digests: with plain digests, an auditor could guess
 * short secrets among the arguments. So a plain digest needs the digest key, which auditors do not have. Throws without that key.
 */
async function callDigestOf(io: Io, config: Config, text: string): Promise<string | undefined> {
  if (KEYED.test(text)) return text;
  const hex = PLAIN.exec(text)?.[1];
  if (hex === undefined) return undefined;
  const key = await digestKey(io, config);
  return `hmac-sha-256:${createHmac('sha256', key).update(`sha-256:${hex}`).digest('hex')}`;
}

async function digestKey(io: Io, { mode, stateDir }: Config): Promise<string> {
  const given = io.environment.variables['COUNTERSIGN_DIGEST_KEY'];
  if (given !== undefined) return given;
  if (mode === 'development' && existsSync(join(stateDir, 'secrets.json'))) {
    return (await loadDevelopmentSecrets(stateDir)).secrets.digestKey;
  }
  throw new CliError(
    'records contain only the keyed digest of a call (hmac-sha-256:…). To find one by a plain digest, ask an operator to ' +
      'run this with COUNTERSIGN_DIGEST_KEY',
  );
}
