import * as z from 'zod';
import { withAbsoluteFiles } from './files.ts';
import { isTrustworthy, scope, secret } from './units.ts';
import { requirementSettings, toolFactSettings } from './tool-settings.ts';

const name = '[A-Za-z0-9]([A-Za-z0-9-]|_(?!_)){0,31}';
const NAME_FORM = 'letters, digits, dash, single underscores; at most 32';

const naming = {
  /**
   * What the public names of its tools and prompts begin with, before two underscores. Default: its key. Empty: they keep
   * their own names, and one that another upstream has, too, is offered by neither.
   */
  prefix: z
    .string()
    .regex(new RegExp(`^(${name})?$`), NAME_FORM)
    .optional(),
  /** Whether mappings of its tools may ask about another subject than the one of the caller's token. */
  mappingsMayNameSubject: z.boolean().default(false),
};
/** What one upstream may make us read. What is beyond is not read, and harms that upstream's own calls only. */
const limits = z
  .strictObject({
    /** Bytes of one message: a line that a program writes, an event of a stream, any other answer; also of a whole list. */
    maxMessageBytes: z
      .number()
      .int()
      .min(64 * 1024)
      .default(10 * 1024 * 1024),
    /** Members of objects and elements of lists in one message of JSON. */
    maxMessageMembers: z.number().int().min(1_000).default(100_000),
    /** Tools it may list, over all pages; likewise prompts, resources and resource templates. A longer list is refused whole. */
    maxListItems: z.number().int().positive().default(5_000),
    /**
     * Seconds after which one of its lists is read anew, before a call or a list needs it. Sooner where the server says so by
     * `ttlMs` (SEP-2549), though not sooner than after a second. Zero: before each call.
     */
    maxListAgeSeconds: z.number().int().nonnegative().default(30),
    /** Messages (lines) of a program or a stream that are read in a second; a large one counts as several. The rest waits. */
    maxMessagesPerSecond: z.number().int().positive().default(2_000),
  })
  .prefault({});

const stdioUpstream = z.strictObject({
  ...naming,
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  cwd: z.string().optional(),
  limits,
});
/** How access tokens for the upstream are got. @see RFC 6749, section 4.4; RFC 8693 */
const auth = z
  .strictObject({
    /** OpenID provider that issues them, by https. */
    issuer: z.url().refine(isTrustworthy, 'an issuer is reached by https, or by http on this machine alone'),
    clientId: z.string().min(1),
    /** One of the two. The key is a private ES256 key as a JWK in JSON. */
    clientSecret: secret.optional(),
    privateKey: secret.optional(),
    scope: z.string().min(1).optional(),
    /** What the tokens are for. Default: the address of the upstream. */
    resource: z.url().optional(),
    /** Makes calls with a token that names their caller, by token exchange. Needs `privateKey`. */
    onBehalfOfCaller: z.boolean().default(false),
  })
  .refine(({ clientSecret, privateKey }) => (clientSecret === undefined) !== (privateKey === undefined), {
    message: 'either clientSecret or privateKey, not both',
  })
  .refine(({ onBehalfOfCaller, privateKey }) => !onBehalfOfCaller || privateKey !== undefined, {
    message: 'onBehalfOfCaller needs privateKey, with which it is said who calls',
  });
const httpUpstream = z.strictObject({
  ...naming,
  url: z.url(),
  /** Sent with every request. */
  headers: z.record(z.string(), secret).default({}),
  auth: auth.optional(),
  limits,
});

const tool = z
  .strictObject({
    /** Scopes that an access token needs for calls of the tool, beside those of the gateway. */
    scopes: z.array(scope).default([]),
    ...toolFactSettings,
  })
  .refine(({ preprocessor, effect = 'read' }) => preprocessor !== true || effect === 'read', {
    path: ['preprocessor'],
    message: 'a preprocessor only reads: its effect cannot be another',
  });

/** What is secret for an upstream may be in files. What a program is started with is nothing of ours. */
const upstream = z.union([stdioUpstream, httpUpstream]);
type Upstream = z.infer<typeof upstream>;
export const withAbsoluteSecrets = (servers: Readonly<Record<string, Upstream>>, baseDir: string) =>
  Object.fromEntries(
    Object.entries(servers).map(([name, { ...server }]): [string, Upstream] => {
      if (!('url' in server)) return [name, server];
      const headers = withAbsoluteFiles(server.headers, baseDir);
      return [name, { ...server, headers, auth: withAbsoluteFiles(server.auth, baseDir) }];
    }),
  );

/**
 * Public names are a prefix, two underscores and the upstream's own name. As no prefix has two underscores in a row, a name
 * can come from two upstreams only when they have the same prefix, or one the other's with an underscore after it. Those
 * without any keep their own names, and what becomes of two that are the same is known when they list them.
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
      const message = `a tool of "${key}" could have the same name as one of "${other}"; give one of the two another prefix`;
      context.addIssue({ code: 'custom', path: [key], message });
    }
  }
}

/** What the configuration says of upstream servers and of their tools. */
export const upstreamSettings = {
  /** Upstream MCP servers, in the form that MCP hosts use. The key becomes the prefix of the tool names, unless `prefix` says otherwise. */
  mcpServers: z
    .record(z.string().regex(new RegExp(`^${name}$`), NAME_FORM), upstream)
    .superRefine(refuseSharedNames)
    .default({}),
  /** What an operator says of a tool, by its public name. */
  tools: z.record(z.string().min(1), tool).default({}),
  requirements: requirementSettings,
  /**
   * For a tool, by its public name: the name, at the same upstream, of a read-only tool that says what became of an
   * execution whose answer was lost. It gets `{ "idempotency_key": … }`, and answers `{ "outcome": "done" | "never" }`.
   */
  outcomeProbes: z.record(z.string().min(1), z.string().min(1)).default({}),
};
