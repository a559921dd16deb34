import * as z from 'zod';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { ASK_KINDS } from '../../../workflows/domain/upstream-ports.ts';
import { withAbsoluteFiles } from './files.ts';
import { count, listOf, off, recordOf, scope, secret, section, text, trustworthyUrl } from './units.ts';
import { requirementSettings, toolFactSettings } from './tool-settings.ts';

const name = '[A-Za-z0-9]([A-Za-z0-9-]|_(?!_)){0,31}';
const NAME_FORM = 'use letters, digits, dashes and single underscores, at most 32';

const naming = {
  prefix: z
    .string()
    .regex(new RegExp(`^(${name})?$`), NAME_FORM)
    .optional()
    .describe(
      'Prefix of the public names of its tools and prompts, before two underscores. Without it, the key of the upstream. If it ' +
        'is empty, names stay as they are, and a name that two upstreams share is offered by neither.',
    ),
  asks: z
    .array(z.enum(ASK_KINDS))
    .optional()
    .describe(
      'What the server may ask the client of an allowed call: `elicitation`, `sampling`, `roots`. Without a list, a server of the ' +
        'present revision may ask everything. One of an earlier revision may ask for `elicitation` and `sampling` if it has a `url`, ' +
        'and for nothing if it is a program. Some servers take `roots` in place of the folders that they were started with.',
    ),
  mappingsMayNameSubject: off.describe(
    "Lets mappings of its tools ask about another subject than the subject of the caller's token.",
  ),
};
const limits = section({
  maxMessageBytes: z
    .number()
    .int()
    .min(64 * 1024)
    .default(10 * 1024 * 1024)
    .describe('Largest message in bytes: a line of a program, an event of a stream, another answer, or a whole list.'),
  maxMessageMembers: z
    .number()
    .int()
    .min(1_000)
    .default(100_000)
    .describe('Highest number of object members and list elements in one JSON message.'),
  maxListItems: count
    .default(5_000)
    .describe(
      'Highest number of tools on all pages of its list. The same limit counts for prompts, resources and resource templates. ' +
        'A longer list is refused as a whole.',
    ),
  maxListAgeSeconds: z
    .number()
    .int()
    .nonnegative()
    .default(30)
    .describe(
      'Age in seconds after which a list is read again before its next use. A shorter `ttlMs` of the server wins, down to one ' +
        'second. With `0`, the list is read before each call.',
    ),
  maxMessagesPerSecond: count
    .default(2_000)
    .describe(
      'Messages per second that are read from a program or a stream. A large message counts as several. The rest waits.',
    ),
}).describe(
  'Limits for the data that Countersign reads from one upstream. A message beyond a limit fails only calls of that upstream.',
);

const stdioUpstream = z.strictObject({
  ...naming,
  command: text.describe('Program that speaks MCP over its standard input and output.'),
  args: listOf(z.string()).describe('Arguments of the program.'),
  env: recordOf(z.string(), z.string()).describe(
    'Environment variables of the program, beside `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM` and `USER`.',
  ),
  cwd: z
    .string()
    .optional()
    .describe('Folder in which the program starts. Without it, the folder of the Countersign process.'),
  limits,
});
/** How Countersign gets access tokens for the upstream. @see RFC 6749, section 4.4; RFC 8693 */
const auth = z
  .strictObject({
    issuer: trustworthyUrl.describe('OpenID provider that issues tokens for the upstream.'),
    clientId: text.describe('Client id of Countersign at that issuer.'),
    clientSecret: secret.optional().describe('Client secret. Give either `clientSecret` or `privateKey`.'),
    privateKey: secret
      .optional()
      .describe('Private ES256 key as a JWK in JSON. Give either `clientSecret` or `privateKey`.'),
    scope: text.optional().describe('Scopes of the tokens, separated by blanks.'),
    resource: z.url().optional().describe('Resource that the tokens are for. Without it, the address of the upstream.'),
    onBehalfOfCaller: off.describe(
      'Gets a token for each call that names its caller, by token exchange. It needs `privateKey`.',
    ),
  })
  .refine(({ clientSecret, privateKey }) => (clientSecret === undefined) !== (privateKey === undefined), {
    message: 'give either clientSecret or privateKey',
  })
  .refine(({ onBehalfOfCaller, privateKey }) => !onBehalfOfCaller || privateKey !== undefined, {
    message: 'onBehalfOfCaller needs privateKey, which signs the name of the caller',
  });
const header = z.union([
  z.string(),
  z.strictObject({
    file: text.describe('File that holds the value. Countersign reads it each time it uses the value.'),
    scheme: text
      .optional()
      .describe('Word before the content of the file, for example `Bearer` for a file that holds a token.'),
  }),
]);
const httpUpstream = z.strictObject({
  ...naming,
  url: z.url().describe('Address of an MCP server over Streamable HTTP.'),
  headers: recordOf(z.string(), header).describe('Headers of every request to the upstream.'),
  auth: auth
    .optional()
    .describe(
      'How Countersign gets access tokens for the upstream, by the client-credentials grant or by token exchange.',
    ),
  limits,
});

const tool = z
  .strictObject({
    scopes: listOf(scope).describe('Scopes that an access token needs for calls of the tool, beside `gateway.scopes`.'),
    ...toolFactSettings,
  })
  .refine(({ preprocessor, effect = 'read' }) => preprocessor !== true || effect === 'read', {
    path: ['preprocessor'],
    message: 'a preprocessor only reads: set its effect to read, or remove preprocessor',
  });

const upstream = z.union([stdioUpstream, httpUpstream]);
type Upstream = z.infer<typeof upstream>;

/** What takes the place of a server whose settings are not complete. Its address leads nowhere. @see RFC 6761, section 6.4 */
export const incomplete = ({ prefix }: JsonObject) => ({
  url: 'http://incomplete.invalid/',
  ...(prefix !== undefined && { prefix }),
});

/** Relative names of secret files start at `baseDir`. Arguments and variables of a program stay unchanged. */
export const withAbsoluteSecrets = (servers: Readonly<Record<string, Upstream>>, baseDir: string) =>
  Object.fromEntries(
    Object.entries(servers).map(([name, { ...server }]): [string, Upstream] => {
      if (!('url' in server)) return [name, server];
      const headers = withAbsoluteFiles(server.headers, baseDir);
      return [name, { ...server, headers, auth: withAbsoluteFiles(server.auth, baseDir) }];
    }),
  );

/**
 * A public name is a prefix, two underscores and the name that the upstream gives the tool. No prefix has two underscores in a row, so
 * two upstreams can share a name only when their prefixes are equal but for a final underscore. Names without a prefix are compared when
 * upstreams list them.
 */
function refuseSharedNames(
  servers: Readonly<Record<string, { readonly prefix?: string | undefined }>>,
  context: Pick<z.RefinementCtx, 'addIssue'>,
): void {
  const owners = new Map<string, string>();
  for (const [key, { prefix = key }] of Object.entries(servers)) {
    if (prefix === '') continue;
    const common = prefix.replace(/_$/, '');
    const other = owners.get(common);
    owners.set(common, key);
    if (other !== undefined) {
      const message = `a tool of "${key}" could have the same name as one of "${other}"; give one of them another prefix`;
      context.addIssue({ code: 'custom', path: [key], message });
    }
  }
}

/** Settings of upstream servers and of their tools. */
export const upstreamSettings = {
  mcpServers: z
    .record(z.string().regex(new RegExp(`^${name}$`), NAME_FORM), upstream)
    .superRefine(refuseSharedNames)
    .default({})
    .describe(
      'Upstream MCP servers, in the form that MCP hosts use. The key is the prefix of tools and prompts, unless `prefix` names one.',
    ),
  tools: recordOf(text, tool).describe('Facts about a tool, by its public name.'),
  requirements: requirementSettings,
  outcomeProbes: recordOf(text, text).describe(
    'For a tool, by its public name: the tool of the same upstream that reports the outcome of a call whose answer was lost. ' +
      'It must declare `readOnlyHint`. It gets `{ "idempotency_key": … }` and answers `{ "outcome": "done" }` or `{ "outcome": "never" }`.',
  ),
};
