import { Command, InvalidArgumentError, Option } from 'commander';
import * as z from 'zod';
import { ACCESS_REQUEST_STATUSES, type Verdict } from '../../../workflows/domain/access-request/access-request.ts';
import { type Api, openApi } from '../api.ts';
import { confirm, facts, type Io, json, moment, readConfig, table, visible } from '../context.ts';

/** Highest number of requests in one answer of the API. */
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
  /** Of an open request. */
  decideBefore: z.string().optional(),
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
interface VoteOptions extends Options {
  readonly reason?: string;
  readonly message?: string;
  readonly yes?: boolean;
}

/** `requests`: shows and decides access requests, as an approver. */
export function requestsCommand(io: Io): Command {
  const api = async (options: Options, command: Command): Promise<Api> => {
    const { config } = readConfig(io, command);
    return (await openApi(io, config, { audience: 'approvals', name: options.as, role: 'approver' })).api;
  };
  const requests = new Command('requests').description('show and decide access requests, as an approver');
  const add = (name: string, description: string) =>
    requests
      .command(name)
      .description(description)
      .option('--as <name>', 'act as this approver (default: the first approver of the configuration)')
      .option('--json', 'print JSON');
  add('list', 'list access requests')
    .addOption(
      new Option('--status <status>', 'only requests with this status')
        .choices([...ACCESS_REQUEST_STATUSES, 'ended', 'yours'])
        .default('pending'),
    )
    .addOption(
      new Option(
        '--order <order>',
        'which come first (default: open requests by age, ended requests by their end)',
      ).choices(['oldest', 'newest']),
    )
    .addOption(new Option('--limit <number>', 'highest number of requests (default: all)').argParser(parseCount))
    .action(async (options: ListOptions, command: Command) => {
      list(io, options, await fetchList(await api(options, command), options));
    });
  add('show', 'show one access request, with the complete call')
    .argument('<id>', 'id of the request')
    .action(async (id: string, options: Options, command: Command) => {
      const request = await find(await api(options, command), id);
      io.out(options.json ? json({ request }) : inWords(request));
    });
  for (const verdict of ['approve', 'deny'] as const) {
    add(verdict, `${verdict} one access request`)
      .argument('<id>', 'id of the request')
      .option('--reason <text>', 'reason; recorded, and never shown to the agent')
      .option('--message <text>', 'words for the agent, in one paragraph; also recorded')
      .option('--yes', 'do not ask for confirmation')
      .action(async (id: string, options: VoteOptions, command: Command) => {
        await decide(io, await api(options, command), { id, verdict, options });
      });
  }
  return requests;
}

async function find(api: Api, id: string): Promise<Detail> {
  return (await api.get(`/requests/${encodeURIComponent(id)}`, detailAnswer)).request;
}

/** All pages of a list, up to the limit. `isMore`: there are requests beyond the limit. */
async function fetchList(api: Api, { status, order, limit = Infinity }: ListOptions) {
  const requests: z.infer<typeof summary>[] = [];
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

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give a whole number of at least 1.');
  return Number(text);
}

type Listed = Awaited<ReturnType<typeof fetchList>>;

function list(io: Io, options: ListOptions, { requests, isMore }: Listed): void {
  if (isMore) io.err(`These are the first ${requests.length} requests. Remove --limit for all, or set a higher limit.`);
  if (options.json) return io.out(json({ requests, isMore }));
  if (requests.length === 0) return io.err('No request matches.');
  const rows = requests.map((one) => [
    one.id,
    one.status,
    one.tool,
    one.requester.subject,
    `${one.approvals}/${one.quorum}`,
    moment(one.createdAt),
    moment(one.decideBefore ?? one.expiresAt),
  ]);
  io.out(table(['ID', 'STATUS', 'TOOL', 'FOR', 'APPROVALS', 'ASKED', 'EXPIRES'], rows));
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
    [
      request.decideBefore === undefined ? 'Expires' : 'Decide before',
      moment(request.decideBefore ?? request.expiresAt),
    ],
    ['Call digest', request.callDigest],
    ...request.votes.map(
      ({ approver, verdict, reason, via, at }) =>
        [
          'Vote',
          `${verdict} by ${approver.subject} (${via}), ${moment(at)}${reason === undefined ? '' : `: ${reason}`}`,
        ] as const,
    ),
  ]);
  const { requesterInput } = request;
  const input = requesterInput === undefined ? '' : `\n\nStated by the requester, unverified:\n${json(requesterInput)}`;
  return `${about}\n\nArguments, exactly as the tool will get them:\n${json(request.arguments)}${input}`;
}

async function decide(
  io: Io,
  api: Api,
  { id, verdict, options }: { id: string; verdict: Verdict; options: VoteOptions },
): Promise<void> {
  const request = await find(api, id);
  if (!options.yes) {
    const question = verdict === 'approve' ? 'Approve: exactly this call runs, once.' : 'Deny: this call does not run.';
    await confirm(io, {
      shown: [inWords(request)],
      question,
      otherwise: 'no vote was cast; repeat the command to vote',
    });
  }
  const { callDigest, generation } = request;
  // The vote names the digest of the shown call, so a request that has changed meanwhile is not decided.
  const answer = await api.post(
    `/requests/${encodeURIComponent(id)}/votes`,
    {
      ...{ verdict, callDigest, generation },
      ...(options.reason !== undefined && { reason: options.reason }),
      ...(options.message !== undefined && { agentMessage: options.message }),
    },
    detailAnswer,
  );
  if (options.json) return io.out(json(answer));
  const { approvals, quorum, status } = answer.request;
  io.out(
    `${verdict === 'approve' ? 'Approved' : 'Denied'}. The request is ${visible(status)} (${approvals} of ${quorum} approvals).`,
  );
}
