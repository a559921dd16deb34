import { Argument, Command, Option } from 'commander';
import * as z from 'zod';
import { TERMINAL_STATES } from '../../../workflows/domain/gated-call/outcome-record.ts';
import { limitsOf } from '../../shared/limits.ts';
import { createApi } from '../api.ts';
import { CliError, type Io, json, moment, readConfig, table } from '../context.ts';
import { callDigestOf, signIn } from '../people.ts';
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

/** `audit`: outcome records, as one of the auditors. */
export function auditCommand(io: Io): Command {
  const signedIn = async (options: Options, command: Command) => {
    const { config } = readConfig(io, command);
    const { token, urls } = await signIn(io, config, { audience: 'audit', name: options.as, role: 'auditor' });
    const digestOf = (text: string) => callDigestOf(io, config, text);
    return { url: urls.audit, api: createApi(urls.audit, token, limitsOf(config)), digestOf };
  };
  const common = (command: Command) =>
    command
      .option('--as <name>', 'auditor to act as (default: the first one of the configuration)')
      .option('--json', 'print JSON');
  const list = common(new Command('list').description('list outcome records, newest first'))
    .addOption(new Option('--state <state>', 'how the call ended').choices(TERMINAL_STATES))
    .option('--tool <name>', 'public name of the tool')
    .option('--requester <subject>', 'who asked')
    .option('--call-digest <digest>', 'the call')
    .option('--from <when>', 'a day (UTC) or an instant, inclusive')
    .option('--until <when>', 'a day (UTC), inclusive, or an instant, exclusive')
    .option('--limit <n>', 'how many, at most 200')
    .option('--cursor <cursor>', 'older ones: where the page before ended')
    .option('--before <cursor>', 'newer ones: where the page after began')
    .action(async (options: ListOptions, command: Command) => {
      const { api, digestOf } = await signedIn(options, command);
      const { callDigest } = options;
      const named = {
        ...options,
        ...(callDigest !== undefined && { callDigest: (await digestOf(callDigest)) ?? callDigest }),
      };
      const filters = FILTERS.flatMap((name) => (named[name] === undefined ? [] : [[name, named[name]]]));
      const query = new URLSearchParams(filters).toString();
      showList(io, options, await api.get(`/outcome-records?${query}`, page));
    });
  const show = common(new Command('show').description('show what is on record, with the five questions answered'))
    .addArgument(new Argument('<id>', 'task id, decision or evaluation id, call digest, or outcome reference'))
    .action(async (id: string, options: Options, command: Command) => {
      const { api, url, digestOf } = await signedIn(options, command);
      const callDigest = await digestOf(id);
      const found =
        callDigest === undefined ? [await findOutcomeRecord(api, id)] : await findRecordsOfCall(api, callDigest);
      if (options.json) io.out(json(found.length === 1 ? found[0] : { items: found }));
      else io.out(found.map((one) => outcomeInWords(one, url)).join('\n\n'));
      if (found.some((one) => !isReliable(one))) throw new CliError('the record cannot be relied on; see above');
    });
  return new Command('audit').description('look outcome records up, as an auditor').addCommand(list).addCommand(show);
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
  if (previousCursor !== undefined) io.err(`There are newer ones: --before ${previousCursor}`);
  if (nextCursor !== undefined) io.err(`There are more: --cursor ${nextCursor}`);
}
