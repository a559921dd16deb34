import { Argument, Command, Option } from 'commander';
import * as z from 'zod';
import { TERMINAL_STATES } from '../../../workflows/domain/gated-call/outcome-record.ts';
import { createApi, type Api } from '../api.ts';
import { readConfig } from '../context.ts';
import type { Io } from '../io.ts';
import { CliError, facts, json, moment, table } from '../output.ts';
import { signIn } from '../people.ts';

const summary = z.looseObject({
  outcomeRef: z.string(),
  taskId: z.string(),
  tool: z.string(),
  requester: z.string(),
  state: z.string(),
  disposition: z.string().optional(),
  callDigest: z.string(),
  recordedAt: z.string(),
  sealIntact: z.boolean(),
});
const answers = z.looseObject({
  didRun: z.looseObject({ answer: z.string(), why: z.string() }),
  call: z.looseObject({ callDigest: z.string(), why: z.string() }),
  terminalBeforeExecution: z.looseObject({
    verdict: z.string(),
    wasDecidedBeforeExecution: z.boolean(),
    why: z.string(),
  }),
  couldRunTwice: z.looseObject({ answer: z.string(), why: z.string() }),
  contradictions: z.array(z.string()),
});
const record = summary.extend({ headline: z.string(), answers: answers.optional() });
const page = z.object({ items: z.array(summary), nextCursor: z.string().optional() });
const records = z.object({ items: z.array(record) });
type Record = z.infer<typeof record>;

interface Options {
  readonly as?: string;
  readonly json?: boolean;
}
const FILTERS = ['state', 'tool', 'requester', 'callDigest', 'from', 'until', 'limit', 'cursor'] as const;
type ListOptions = Options & Partial<globalThis.Record<(typeof FILTERS)[number], string>>;

/** `audit`: outcome records, as one of the auditors. */
export function auditCommand(io: Io): Command {
  const api = async (options: Options, command: Command): Promise<Api> => {
    const { config } = readConfig(io, command);
    const { token, urls } = await signIn(io, config, { audience: 'audit', name: options.as, role: 'auditor' });
    return createApi(urls.audit, token);
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
    .option('--cursor <cursor>', 'where the last page ended')
    .action(async (options: ListOptions, command: Command) => {
      const filters = FILTERS.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]]));
      const query = new URLSearchParams(filters).toString();
      showList(io, options, await (await api(options, command)).get(`/outcome-records?${query}`, page));
    });
  const show = common(new Command('show').description('show what is on record, with the four questions answered'))
    .addArgument(new Argument('<id>', 'task id, decision or evaluation id, call digest, or outcome reference'))
    .action(async (id: string, options: Options, command: Command) => {
      const found = await find(await api(options, command), id);
      io.out(options.json ? json(found.length === 1 ? found[0] : { items: found }) : found.map(inWords).join('\n\n'));
      if (found.some((one) => !isReliable(one))) throw new CliError('the record cannot be relied on; see above');
    });
  return new Command('audit').description('look outcome records up, as an auditor').addCommand(list).addCommand(show);
}

/** The kind of a reference shows in its form; what has no form of its own is a decision. */
async function find(api: Api, id: string): Promise<readonly Record[]> {
  const digest = /^(?:sha-256:)?([0-9a-f]{64})$/.exec(id)?.[1];
  if (digest !== undefined) return (await api.get(`/outcome-records/by-call/sha-256:${digest}`, records)).items;
  const path = id.startsWith('out_') ? '' : id.startsWith('tsk_') ? 'by-task/' : 'by-decision/';
  return [await api.get(`/outcome-records/${path}${encodeURIComponent(id)}`, record)];
}

const isReliable = (one: Record) => one.sealIntact && one.answers?.contradictions.length === 0;

function showList(io: Io, options: Options, { items, nextCursor }: z.infer<typeof page>): void {
  if (options.json) return io.out(json({ items, ...(nextCursor !== undefined && { nextCursor }) }));
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
  if (nextCursor !== undefined) io.err(`There are more: --cursor ${nextCursor}`);
}

function inWords(one: Record): string {
  const { answers: found } = one;
  const terminal = found?.terminalBeforeExecution;
  const about = facts([
    [
      'Ended as',
      `${one.state}${one.disposition === undefined ? '' : ` (${one.disposition})`}, ${moment(one.recordedAt)}`,
    ],
    ['Tool', `${one.tool}, for ${one.requester}`],
    ['Did it run?', found && `${found.didRun.answer}. ${found.didRun.why}`],
    ['Which call?', found && `${found.call.callDigest}. ${found.call.why}`],
    [
      'Decided first?',
      terminal && `${terminal.wasDecidedBeforeExecution ? 'yes' : 'not shown'} (${terminal.verdict}). ${terminal.why}`,
    ],
    ['Could it run twice?', found && `${found.couldRunTwice.answer}. ${found.couldRunTwice.why}`],
    ['Task', one.taskId],
    ['Record', one.outcomeRef],
    ['Seal', one.sealIntact ? 'intact' : 'BROKEN: the text of the record was changed'],
    ...(found?.contradictions.map((text) => ['Contradiction', text] as const) ?? []),
  ]);
  return `${one.headline}\n${about}`;
}
