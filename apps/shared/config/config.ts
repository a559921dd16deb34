import { resolve } from 'node:path';
import * as z from 'zod';
import { ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { PINNINGS } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import { SUBJECT_ATTRIBUTES } from '../directory/directory.ts';
import { approvalSettings, withAbsoluteCatalogs } from './approval-settings.ts';
import { addressSettings, off, port, scope, section } from './units.ts';
import { accessRequestReach, authorityOf } from './authority-settings.ts';
import { channelProblems, withAbsoluteAuthority } from './channel-settings.ts';
import { pdpSettings, withAbsoluteCertificate } from './engine-settings.ts';
import { packagePath, withAbsoluteFiles } from './files.ts';
import { clientId, identitySettings } from './identity-settings.ts';
import type { SettingProblem } from './problems.ts';
import { previewProblems } from './preview-problems.ts';
import { ruleProblems } from './rule-problems.ts';
import { rules } from './rule-settings.ts';
import { templatesOf } from '../rules/rules.ts';
import { obligationSettings, workerSettings } from './worker-settings.ts';
import { gatewaySettings } from './gateway-settings.ts';
import { upstreamSettings, withAbsoluteSecrets } from './upstream-settings.ts';

/** Path below the gateway's address to which the access request service reports the end of a request. */
export const CALLBACK_PATH = '/callbacks/access-requests';
/** Path of the gateway for questions of the access request service for the preview of a call. */
export const PREVIEWS_PATH = '/callbacks/previews';
/** Path of the gateway's pages of held calls, each below its request reference. */
export const HELD_CALL_PATH = '/calls';

/** Every setting of `countersign.yaml`. Names contain units, and defaults are safe and local. */
export const configSchema = z
  .strictObject({
    mode: z
      .enum(['development', 'production'])
      .default('development')
      .describe(
        '`development` starts its own PostgreSQL, Temporal and identity provider. `production` refuses every embedded part, and ' +
          'requires addresses and secrets.',
      ),
    host: z.string().default('127.0.0.1').describe('Interface on which all servers listen.'),
    timeLimitFactor: z
      .number()
      // Libraries refuse limits with a fraction of a millisecond, which a fractional factor would produce.
      .int('expected a whole number')
      .min(1)
      .max(1_000)
      .default(1)
      .describe(
        'Factor for a slow machine or network. It multiplies the time limits of requests to other services, database statements and ' +
          'shutdown. It changes no deadline, no retention, and no validity of a decision.',
      ),
    ...upstreamSettings,
    rules,
    gateway: gatewaySettings,
    signature: section({
      pinning: z
        .enum(PINNINGS)
        .optional()
        .describe(
          'When a tool, prompt or resource enters the signature, without which clients cannot see or use it. `first-seen`: when ' +
            'the gateway first sees it. `accepted`: after `countersign signature accept`. Without it, `first-seen` in ' +
            'development and `accepted` in production.',
        ),
    }).describe('Which descriptions of upstreams the gateway accepts.'),
    worker: workerSettings,
    pdp: pdpSettings,
    obligations: obligationSettings,
    accessRequests: accessRequestReach,
    approvals: approvalSettings,
    addresses: addressSettings,
    audit: section({
      port: port.default(4103).describe("Port of the auditors' pages and their API."),
      url: z.url().optional().describe('Public address. Without it, `http://` with `host` and `port`.'),
      clientId,
      scopes: z.array(scope).default(['audit']).describe('Scopes that an access token needs for the API.'),
    }).describe("The auditors' pages and their API."),
    identity: identitySettings,
    directory: section({
      file: z
        .string()
        .optional()
        .describe(
          'JSON file with users and groups as a SCIM list. Countersign reads it again when it changes. A relative path starts ' +
            'at the folder of the configuration file. Without it, there is no directory.',
        ),
      subjectAttribute: z
        .enum(SUBJECT_ATTRIBUTES)
        .default('userName')
        .describe('Attribute of a user that is the subject in tokens and requests.'),
    }).describe('Users with their roles, managers and groups.'),
    temporal: section({
      address: z
        .string()
        .optional()
        .describe(
          'Address (`host:port`) of the Temporal frontend. Only the worker uses it. The variable `TEMPORAL_ADDRESS` wins. ' +
            'Without either, the embedded development server.',
        ),
      namespace: z.string().default('default').describe('Namespace in Temporal. It must exist already.'),
      taskQueue: z.string().default('countersign').describe('Task queue of the worker.'),
      tls: off.describe('Uses TLS to Temporal.'),
    }).describe('The Temporal cluster.'),
  })
  .superRefine((file, context) => {
    for (const { path, message } of [
      ...ruleProblems(file),
      ...previewProblems(file),
      ...audienceProblems(file),
      ...channelProblems(file),
    ])
      context.addIssue({ code: 'custom', path: [...path], message });
  });

export type Person = Config['identity']['people'][number];

/** The validated configuration with every address resolved. Plain data, frozen, safe to log. */
export type Config = ReturnType<typeof parseConfig>;

interface Pages {
  readonly clientId: string;
  readonly url?: string | undefined;
}

interface Audiences {
  readonly gateway: { readonly audience?: string | undefined };
  readonly approvals: Pages;
  readonly audit: Pages;
  readonly identity: { readonly issuer?: string | undefined };
}

/**
 * Tokens for other purposes must not open the gateway: those for the inbox and the auditors' pages, and the ID tokens of a sign-in there,
 * whose audience is the client.
 */
function audienceProblems({ gateway, approvals, audit, identity }: Audiences): SettingProblem[] {
  const { audience } = gateway;
  if (audience === undefined) return [];
  const path = ['gateway', 'audience'];
  const pages = [approvals, audit];
  const isTaken = pages.some(({ clientId, url = '' }) => [clientId, url, trimSlash(url)].includes(audience));
  const taken =
    "tokens for the inbox or the auditors' pages have this audience: register the gateway separately at the issuer";
  const own = 'the embedded issuer writes the address of the endpoint: leave this out, or set identity.issuer';
  return [
    ...(isTaken ? [{ path, message: taken }] : []),
    ...(identity.issuer === undefined ? [{ path, message: own }] : []),
  ];
}

const trimSlash = (url: string) => url.replace(/\/+$/, '');

/** Without a folder and without rules, the folder beside the file. With rules alone, the general policies of the package. */
function policyFolderOf({ pdp, rules: own }: z.infer<typeof configSchema>, baseDir: string): string {
  if (pdp.policies === undefined && own !== undefined) return packagePath('policies');
  return resolve(baseDir, pdp.policies ?? './policies');
}

/** The rules, with what they are compiled with. Undefined if there are none. */
function rulePlacesOf({ pdp, rules: all, mcpServers }: z.infer<typeof configSchema>) {
  if (all === undefined) return undefined;
  const prefixes = Object.entries(mcpServers).map(([name, { prefix = name }]) => [name, prefix] as const);
  return { all, prefixes: Object.fromEntries(prefixes), isAlone: pdp.policies === undefined };
}

interface Surroundings {
  readonly baseDir: string;
  readonly stateDir: string;
  /** Servers that cannot be used, with the reason. */
  readonly faults?: Readonly<Record<string, string>>;
}

/** Fills defaults and resolves addresses. Throws a `ZodError` for an invalid file. */
export function parseConfig(raw: unknown, at: Surroundings) {
  const file = configSchema.parse(raw ?? {});
  const urls = urlsOf(file);
  return Object.freeze({
    ...file,
    /** How gateway and worker reach the PDP and the access request service. */
    authority: authorityOf({ ...file, baseDir: at.baseDir }, { urls }),
    /** Folder of the configuration file; relative paths in it start here. */
    baseDir: at.baseDir,
    /** Folder for everything the embedded parts keep: database, Temporal store, keys, logs. */
    stateDir: at.stateDir,
    requirements: withAbsoluteFiles(file.requirements, at.baseDir),
    obligations: withAbsoluteFiles(file.obligations, at.baseDir),
    directory: { ...file.directory, ...(file.directory.file && { file: resolve(at.baseDir, file.directory.file) }) },
    mcpServers: withFaults(withAbsoluteSecrets(file.mcpServers, at.baseDir), at.faults),
    signature: { pinning: file.signature.pinning ?? (file.mode === 'production' ? 'accepted' : 'first-seen') },
    pdp: {
      ...file.pdp,
      enforcementPoints: withAbsoluteFiles(file.pdp.enforcementPoints, at.baseDir),
      policies: policyFolderOf(file, at.baseDir),
      rules: rulePlacesOf(file),
      ...(file.pdp.decisionLog && { decisionLog: resolve(at.baseDir, file.pdp.decisionLog) }),
      engine: withAbsoluteCertificate(file.pdp.engine, at.baseDir),
    },
    approvals: {
      ...file.approvals,
      templates: { ...file.approvals.templates, ...templatesOf(file.rules ?? []) },
      clients: withAbsoluteFiles(file.approvals.clients, at.baseDir),
      notifications: withAbsoluteFiles(file.approvals.notifications, at.baseDir),
      channels: withAbsoluteAuthority(withAbsoluteFiles(file.approvals.channels, at.baseDir), at.baseDir),
      resolvers: withAbsoluteFiles(file.approvals.resolvers, at.baseDir),
      catalogs: withAbsoluteCatalogs(file.approvals.catalogs, at.baseDir),
    },
    /** Key sets of binding tokens and of approvals. */
    keyUrls: {
      pdp: file.pdp.jwksUrl ?? `${trimSlash(urls.pdp)}/access/v1/jwks`,
      approvals: file.accessRequests.jwksUrl ?? `${urls.approvals}/access/v1/jwks`,
    },
    urls,
  });
}

/** A server with a fault is never connected. */
const withFaults = <Server extends object>(
  servers: Readonly<Record<string, Server>>,
  faults: Surroundings['faults'] = {},
) =>
  Object.fromEntries(
    Object.entries(servers).map(([name, server]): [string, Server & { readonly fault?: string | undefined }] => {
      const fault = ownProperty(faults, name);
      return [name, { ...server, ...(fault !== undefined && { fault }) }];
    }),
  );

function urlsOf(file: z.infer<typeof configSchema>) {
  const local = (section: { port: number; url?: string | undefined }) =>
    trimSlash(section.url ?? `http://${file.host}:${section.port}`);
  const [gateway, approvals] = [local(file.gateway), local(file.approvals)];
  return {
    gateway,
    /** The MCP endpoint. */
    mcp: `${gateway}/mcp`,
    // An identifier is compared byte by byte, so it stays unchanged.
    pdp: file.pdp.url ?? local(file.pdp),
    approvals,
    /** Submission URL of the access request service; audience of binding tokens (PRJ-03). */
    accessRequests: file.accessRequests.url ?? `${approvals}/access/v1/requests`,
    audit: local(file.audit),
    // Tokens contain the issuer, and it is compared byte by byte.
    issuer: file.identity.issuer ?? `http://${file.host}:${file.identity.port}`,
  };
}
