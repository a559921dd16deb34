import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import * as z from 'zod';
import { ACCESS_REQUEST_STATUSES, type Verdict } from '../../../workflows/domain/access-request/access-request.ts';
import { limitsOf } from '../../shared/limits.ts';
import { createApi, type Api } from '../api.ts';
import { CliError, EXIT, facts, type Io, json, moment, readConfig, table, visible } from '../context.ts';
import { signIn } from '../people.ts';

/** The most that one answer has. */
const PAGE_SIZE = 200;

const summary = z.looseObject({
  id: z.string(),
  status: z.string(),
  tool: z.string(),
  requester: z.looseObject({ subject: z.string(), clientId: z.string().optional() }),
  callDigest: z.string(),
  generation: z.number(),
  quorum: z.number(),
  approvals: z.number(),
  createdAt: z.string(),
  expiresAt: z.string(),
});
const vote = z.looseObject({
  approver: z.looseObject({ subject: z.string() }),
  verdict: z.string(),
  reason: z.string().optional(),
  via: z.string(),
  at: z.string(),
});
const detail = summary.extend({
  argumentsText: z.string(),
  arguments: z.unknown(),
  requesterInput: z.unknown().optional(),
  votes: z.array(vote),
  reason: z.string().optional(),
});
const listAnswer = z.looseObject({
  requests: z.array(summary),
  nextCursor: z.string().optional(),
});
const detailAnswer = z.object({ request: detail });
type Detail = z.infer<typeof detail>;

interface Options {
  readonly as?: string;
  readonly json?: boolean;
}
interface ListOptions extends Options {
  readonly status: string;
  readonly order?: string;
  readonly limit?: number;
}
interface Listed {
  readonly requests: z.infer<typeof summary>[];
  readonly isMore: boolean;
}
interface VoteOptions extends Options {
  readonly reason?: string;
  readonly yes?: boolean;
}

/** `requests`: what waits for approval, and deciding it, as one of the approvers. */
export function requestsCommand(io: Io): Command {
  const api = async (options: Options, command: Command): Promise<Api> => {
    const { config } = readConfig(io, command);
    const { token, urls } = await signIn(io, config, { audience: 'approvals', name: options.as, role: 'approver' });
    return createApi(urls.approvals, token, limitsOf(config));
  };
  const requests = new Command('requests').description('see and decide access requests, as an approver');
  const add = (name: string, description: string) => {
    const command = new Command(name)
      .description(description)
      .option('--as <name>', 'approver to act as (default: the first one of the configuration)')
      .option('--json', 'print JSON');
    requests.addCommand(command);
    return command;
  };
  add('list', 'list access requests')
    .addOption(
      new Option('--status <status>', 'which')
        .choices([...ACCESS_REQUEST_STATUSES, 'ended', 'yours'])
        .default('pending'),
    )
    .addOption(
      new Option('--order <order>', 'which come first (default: open ones by age, ended ones by their end)').choices([
        'oldest',
        'newest',
      ]),
    )
    .addOption(new Option('--limit <number>', 'at most so many (default: all)').argParser(aCount))
    .action(async (options: ListOptions, command: Command) => {
      list(io, options, await listed(await api(options, command), options));
    });
  add('show', 'show one access request, with everything that would run')
    .addArgument(new Argument('<id>', 'id of the request'))
    .action(async (id: string, options: Options, command: Command) => {
      show(io, options, await find(await api(options, command), id));
    });
  for (const verdict of ['approve', 'deny'] as const) {
    add(verdict, `${verdict} one access request`)
      .addArgument(new Argument('<id>', 'id of the request'))
      .option('--reason <text>', 'why; kept on record, never shown to the agent')
      .option('--yes', 'do not ask')
      .action(async (id: string, options: VoteOptions, command: Command) => {
        await decide(io, await api(options, command), { id, verdict, options });
      });
  }
  return requests;
}

async function find(api: Api, id: string): Promise<Detail> {
  return (await api.get(`/requests/${encodeURIComponent(id)}`, detailAnswer)).request;
}

/** All pages of a list, up to the limit. `isMore`: the limit left some out. */
async function listed(api: Api, { status, order, limit = Infinity }: ListOptions): Promise<Listed> {
  const requests: Listed['requests'] = [];
  let cursor: string | undefined;
  do {
    const size = String(Math.min(limit - requests.length, PAGE_SIZE));
    const page = { status, ...(order && { order }), limit: size, ...(cursor !== undefined && { cursor }) };
    const answer = await api.get(`/requests?${new URLSearchParams(page).toString()}`, listAnswer);
    requests.push(...answer.requests);
    cursor = answer.nextCursor;
  } while (cursor !== undefined && requests.length < limit);
  return { requests, isMore: cursor !== undefined };
}

function aCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give a number from 1 on.');
  return Number(text);
}

function list(io: Io, options: ListOptions, { requests, isMore }: Listed): void {
  if (isMore) io.err(`These are the first ${requests.length}. Leave out --limit for all, or give a higher one.`);
  if (options.json) return io.out(json({ requests, isMore }));
  if (requests.length === 0) return io.err('No request matches.');
  const rows = requests.map((one) => [
    one.id,
    one.status,
    one.tool,
    one.requester.subject,
    `${one.approvals}/${one.quorum}`,
    moment(one.createdAt),
    moment(one.expiresAt),
  ]);
  io.out(table(['ID', 'STATUS', 'TOOL', 'FOR', 'APPROVALS', 'ASKED', 'EXPIRES'], rows));
}

function show(io: Io, options: Options, request: Detail): void {
  io.out(options.json ? json({ request }) : inWords(request));
}

function inWords(request: Detail): string {
  const { clientId, subject } = request.requester;
  const about = facts([
    ['Request', request.id],
    ['Status', request.status],
    ['Tool', request.tool],
    ['For', clientId === undefined ? subject : `${subject}, through ${clientId}`],
    ['Approvals', `${request.approvals} of ${request.quorum}`],
    ['Asked', moment(request.createdAt)],
    ['Expires', moment(request.expiresAt)],
    ['Call digest', request.callDigest],
    ...request.votes.map(
      ({ approver, verdict, reason, via, at }) =>
        [
          'Vote',
          `${verdict} by ${approver.subject} (${via}), ${moment(at)}${reason === undefined ? '' : `: ${reason}`}`,
        ] as const,
    ),
  ]);
  const { requesterInput: said } = request;
  const input = said === undefined ? '' : `\n\nWhat the requester says, unverified:\n${json(said)}`;
  return `${about}\n\nArguments, exactly as the tool will get them:\n${json(request.arguments)}${input}`;
}

async function decide(
  io: Io,
  api: Api,
  { id, verdict, options }: { id: string; verdict: Verdict; options: VoteOptions },
): Promise<void> {
  const request = await find(api, id);
  if (!options.yes) await confirm(io, verdict, request);
  const { callDigest, generation } = request;
  // The digest of what was shown goes along: a request that is another one by now is not decided.
  const answer = await api.post(
    `/requests/${encodeURIComponent(id)}/votes`,
    { verdict, callDigest, generation, ...(options.reason !== undefined && { reason: options.reason }) },
    detailAnswer,
  );
  if (options.json) return io.out(json(answer));
  const { approvals, quorum, status } = answer.request;
  io.out(
    `${verdict === 'approve' ? 'Approved' : 'Denied'}. The request is ${visible(status)} (${approvals} of ${quorum} approvals).`,
  );
}

async function confirm(io: Io, verdict: Verdict, request: Detail): Promise<void> {
  if (io.ask === undefined) {
    throw new CliError(`nobody can be asked here; add --yes to ${verdict} it without a question`, {
      exitCode: EXIT.usage,
    });
  }
  io.err(inWords(request));
  const answer = await io.ask(
    `\n${verdict === 'approve' ? 'Approve: exactly this will run, once.' : 'Deny: this will not run.'} Go on? [y/N] `,
  );
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was decided');
}
