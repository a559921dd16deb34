import * as z from 'zod';
import { SENSITIVITIES } from '../../../workflows/domain/tools/tool-facts.ts';
import { TASK_OWNERS } from '../../../workflows/domain/principal.ts';
import { coazSettings } from './tool-settings.ts';
import { count, listOf, on, port, scope, seconds, section, text } from './units.ts';

const sessionSettings = section({
  enabled: on.describe(
    'Gives clients of earlier revisions a session, so that their upstreams can ask them. Without it, any replica answers any request.',
  ),
  instance: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'use letters, digits, dashes and underscores, at most 64')
    .optional()
    .describe(
      'Name of this instance at the start of its session ids, for a proxy that routes by them. Each replica needs its own, and keeps it ' +
        'when it restarts. Without it, a digest of host name and port.',
    ),
  idleSeconds: z
    .number()
    .int()
    .min(60)
    .max(86_400)
    .default(1_800)
    .describe('How long a session without use stays in memory, in seconds. Its id stays valid for 30 days.'),
  maxPerCaller: count
    .default(32)
    .describe(
      'Sessions in memory of one client of a subject. A further one takes the place of the one unused for longest.',
    ),
  max: count.default(1_000).describe('Sessions in memory of all callers. Further clients work without one.'),
  answerSeconds: z
    .number()
    .int()
    .min(10)
    .max(540)
    .default(300)
    .describe('How long a client has to answer a question of an upstream, in seconds.'),
  maxBufferedBytes: z
    .number()
    .int()
    .min(64 * 1024)
    .max(16 * 1024 * 1024)
    .default(1024 * 1024)
    .describe('Events that one session keeps for a client that lost its connection, in bytes.'),
}).describe('Sessions of clients of the revisions 2025-03-26 to 2025-11-25.');

/** Of one request, in seconds: up to an hour. */
const waitLength = z.number().int().min(0).max(3_600);
const hostName = z
  .string()
  .max(100)
  .regex(/[A-Za-z0-9]/, 'use the name that the client gives itself, such as claude-code');

export const gatewaySettings = section({
  port: port.default(4100).describe('Port of the gateway.'),
  url: z
    .url()
    .optional()
    .describe('Public address. The MCP endpoint is `/mcp` below it. Without it, `http://` with `host` and `port`.'),
  audience: text
    .optional()
    .describe(
      'Audience of access tokens for the MCP endpoint, exactly as `identity.issuer` writes it. Without it, the address of the ' +
        'endpoint. Only for issuers that write another name, such as Entra ID.',
    ),
  scopes: z.array(scope).default(['mcp']).describe('Scopes that an access token needs for every request.'),
  allowedOrigins: listOf(text).describe(
    'Host names of other sites whose pages may call the MCP endpoint from a browser, such as `inspector.example.com`.',
  ),
  pollIntervalMs: z
    .number()
    .int()
    .min(100)
    .default(2_000)
    .describe(
      'How long a client waits between two `tasks/get` at first, in milliseconds. The longer a task waits, the longer the pause: up to ' +
        '30 seconds, or this number if it is greater. The gateway tells clients the pause.',
    ),
  heldCallPage: z
    .enum(['ask', 'name', 'off'])
    .default('ask')
    .describe(
      'How a client with tasks learns where a person approves its call. `name`: the status message of the task names a page of the ' +
        'gateway, `/calls/`, which leads on to the request. `ask`: the task also asks a client that opens addresses (`elicitation.url`) ' +
        'once to open that page. `off`: there is no such page.',
    ),
  requestTtlSeconds: seconds
    .default(7 * 86_400)
    .describe(
      'How long each request for an approval waits for its resolution, in seconds. An earlier deadline of the access request service wins. An approval ends this wait.',
    ),
  resultRetentionSeconds: seconds
    .default(7 * 86_400)
    .describe('How long a call stays readable after its end, in seconds.'),
  unreadOutcomeSeconds: z
    .number()
    .int()
    .min(0)
    .max(86_400)
    .default(600)
    .describe(
      'How long an ended call answers an identical call of a client without tasks, once, in seconds, unless the client asked for its ' +
        'status. The client gets the outcome, and the tool does not run again. With `0`, an identical call is a new call.',
    ),
  executionTimeoutSeconds: seconds
    .default(60)
    .describe(
      'Limit for one execution from its claim, in seconds. If no result has arrived by then, the call ends as `outcome-unknown`.',
    ),
  taskOwner: z
    .enum(TASK_OWNERS)
    .default('subject-and-client')
    .describe(
      'Who owns a gated call, its task and its request reference. `subject-and-client` is the subject through one client. ' +
        '`subject` is the subject through any client.',
    ),
  maxOpenPerCaller: count
    .default(100)
    .describe('Open gated calls per client of a subject. The gateway refuses further calls.'),
  maxOpenPerSubject: count
    .optional()
    .describe('Open gated calls per subject through all its clients. Without it, the value of `maxOpenPerCaller`.'),
  redactAbove: z
    .enum(SENSITIVITIES)
    .optional()
    .describe(
      'Withholds results of tools that are marked as more sensitive than this from clients. Without it, no result is withheld.',
    ),
  maxSubmissionsPerMinute: count
    .optional()
    .describe(
      'Access requests per minute that one process submits for one subject. The gateway refuses further calls that need one. ' +
        'Without it, the value of `maxOpenPerCaller`.',
    ),
  maxPollsPerSecond: count
    .default(200)
    .describe(
      'Requests about tasks per second that one process accepts from one subject. Each task of a stream counts. The gateway ' +
        'answers further requests with HTTP 429.',
    ),
  maxCallsPerSecond: count
    .default(500)
    .describe(
      'Tool calls per second that one process accepts from one subject, refused calls included. The gateway answers further ' +
        'calls with HTTP 429.',
    ),
  maxStreamsPerCaller: count
    .default(16)
    .describe(
      'Open `subscriptions/listen` streams and waiting calls of one subject in one process. The gateway refuses further ' +
        'streams with HTTP 429. Further calls do not wait.',
    ),
  maxStreams: count.default(1_000).describe('Open streams and waiting calls of all subjects in one process.'),
  structuredDenials: on.describe('Adds the SEP-2643 envelope for programs to denials. Every denial has the text.'),
  approvalAlias: on.describe(
    'Also offers the approval extension and its disposition under their former names (`net.openid.authzen/…`).',
  ),
  requestByItself: on.describe(
    'Requests the approval at once when a call needs one and its client declares no tasks. With `false`, such a call is refused ' +
      'and requests nothing; the client can then call the tool `request_access`.',
  ),
  waitSeconds: z
    .union([waitLength, z.record(hostName, waitLength)])
    .default({})
    .describe(
      'How long a call that needs an approval waits for its end when the client declares no tasks, in seconds. ' +
        'A number is for all clients, also for `get_request_status`, and `0` means that they do not wait. An object has a ' +
        'number for each name of a client, and `default` for the others. Names that it leaves out wait as their hosts allow: ' +
        '`claude-code`, `gemini-cli` and `qwen-cli` 240, `claude-ai` and `claude-desktop` 200, `copilot-cli` 170, `codex` 50, ' +
        '`ai-sdk-mcp-client`, `fastmcp`, `inspector-cli`, `langchain-mcp-adapters`, `mcp-use` and `rmcp` 45, `java-sdk-mcp-client` 15. ' +
        'For all others the call itself waits 4 seconds, and `get_request_status` 45. A name is also that of every client whose ' +
        'name begins with it. Case does not matter, and blanks and signs count as dashes.',
    ),
  heldIsError: z
    .union([z.boolean(), z.record(hostName, z.boolean())])
    .default({})
    .describe(
      'Whether the answer about a call that still waits for its approval is an error (`isError`). An object has a value for each name of ' +
        'a client, and `default` for the others. Names that it leaves out: `mcp` false, others true. `mcp` is the name of agents on the ' +
        'Python SDK, where an error is often an exception that their model does not read. A tool with an output schema always gets an ' +
        'error, because clients reject such an answer otherwise.',
    ),
  demandTasks: z
    .union([z.boolean(), z.array(text)])
    .default(false)
    .describe(
      'Returns the error -32021 when a call needs an approval and its client could declare tasks, but does not. A list limits ' +
        'this to the named tools.',
    ),
  sessions: sessionSettings,
  requestTools: on.describe('Offers the tools `request_access` and `get_request_status`, for clients without tasks.'),
  coaz: coazSettings,
  maxBodyBytes: count.default(4 * 1024 * 1024).describe('Largest request body, in bytes.'),
}).describe('The MCP endpoint, and the gated calls that it opens.');
