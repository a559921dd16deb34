import { resolve } from 'node:path';
import * as z from 'zod';
import { PINNINGS, type Pinning } from '../../../workflows/domain/tools/accepted-descriptions.ts';
import { SUBJECT_ATTRIBUTES } from '../directory/directory.ts';
import { accessRequestSettings } from './access-request-settings.ts';
import { approverSettings, breakGlassSettings, webhookApproverSettings } from './approver-settings.ts';
import { addressSettings } from './address-settings.ts';
import { accessRequestReach, authorityOf } from './authority-settings.ts';
import { catalogSettings, withAbsoluteCatalogs } from './catalog-settings.ts';
import { withAbsoluteCertificate } from './engine-settings.ts';
import { withAbsoluteFiles } from './files.ts';
import { clientId, signInSettings } from './sign-in-settings.ts';
import { obligationSettings } from './obligation-settings.ts';
import { gatewaySettings } from './gateway-settings.ts';
import { pdpSettings } from './pdp-settings.ts';
import { checkResolvers, resolverSettings } from './resolver-settings.ts';
import { notificationSettings } from './notification-settings.ts';
import { isTrustworthy, port, scope, seconds } from './units.ts';
import { upstreamSettings, withAbsoluteSecrets } from './upstream-settings.ts';

/** Where, below the gateway's address, the access request service tells that a request has ended. */
export const CALLBACK_PATH = '/callbacks/access-requests';

const person = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'lower-case letters, digits, dot, dash and underscore'),
  displayName: z.string().optional(),
  /** `agent`, `approver`, `auditor`, and whatever roles the templates of `approvals` name. */
  roles: z.array(z.string().regex(/^[\w.:-]{1,64}$/, 'letters, digits, dot, colon, dash and underscore')).min(1),
});

/** Every setting of `countersign.yaml`. Each has its unit in its name, and a default that is safe and local. */
export const configSchema = z.strictObject({
  /** `development` allows the embedded Postgres, Temporal and identity provider; `production` demands addresses. */
  mode: z.enum(['development', 'production']).default('development'),
  /** Interface all servers listen on. */
  host: z.string().default('127.0.0.1'),
  /**
   * By how much all limits of `limits.ts` are multiplied, for a machine or a network that is slow: how long a request to another
   * service, a statement, a permit to send and a graceful stop may take. Deadlines, retention, and for how long a decision counts
   * stay as they are.
   */
  timeLimitFactor: z.number().min(1).max(1_000).default(1),
  ...upstreamSettings,
  gateway: gatewaySettings,
  signature: z
    .strictObject({
      /**
       * How tools get into the signature, without which they are neither listed nor called: as they are `first-seen`, or when
       * they are `accepted` by `countersign signature accept`. Default: the first in development, the second in production.
       */
      pinning: z.enum(PINNINGS).optional(),
    })
    .prefault({}),
  worker: z
    .strictObject({
      /**
       * How soon it is looked for a resolution of which no callback came: first after the minimum, then each time after as
       * long as the call has waited, up to the maximum.
       */
      resolutionPollMinSeconds: seconds.default(30),
      resolutionPollMaxSeconds: seconds.default(600),
      /** Access requests made one after another for one gated call, when the policy wants a further approval. */
      maxGenerations: z.number().int().min(1).max(10).default(3),
      /** How long after its grant an approval can be used, when it names no earlier end itself. */
      approvalUseSeconds: seconds.default(86_400),
      /** How often the expire job ends calls past a deadline. */
      sweepIntervalMs: z.number().int().min(100).default(1_000),
      /** How often open calls are held against the workflows that run, so that a lost one is started again. */
      reconcileIntervalSeconds: seconds.default(30),
      /** A creation that has not got its handle after this long, and that no client asks for, is given up. */
      abandonAfterSeconds: seconds.default(60),
    })
    .prefault({}),
  pdp: pdpSettings,
  obligations: obligationSettings,
  accessRequests: accessRequestReach,
  approvals: z
    .strictObject({
      port: port.default(4102),
      url: z.url().optional(),
      clientId,
      /** Scopes that an access token needs for the API of the inbox. */
      scopes: z.array(scope).default(['approvals']),
      /** How long an access request waits for approvers. */
      requestTtlSeconds: seconds.default(7 * 86_400),
      /** How long a granted approval can be used. */
      approvalTtlSeconds: seconds.default(3_600),
      webhookApprovers: webhookApproverSettings,
      ...accessRequestSettings,
      ...approverSettings,
      breakGlass: breakGlassSettings,
      notifications: notificationSettings,
      resolvers: resolverSettings,
      catalogs: catalogSettings,
    })
    .superRefine(checkResolvers)
    .prefault({}),
  addresses: addressSettings,
  audit: z
    .strictObject({
      port: port.default(4103),
      url: z.url().optional(),
      clientId,
      /** Scopes that an access token needs for the API. */
      scopes: z.array(scope).default(['audit']),
    })
    .prefault({}),
  identity: z
    .strictObject({
      port: port.default(4104),
      /** OIDC issuer, by https, exactly as it writes itself, with or without a slash at its end. Default: the embedded development provider. Required in production. */
      issuer: z
        .url()
        .refine(isTrustworthy, 'an issuer is reached by https, or by http on this machine alone')
        .optional(),
      /** Claim that carries roles (`approver`, `auditor`). Dots lead into objects, where no claim has this very name: `realm_access.roles`. */
      rolesClaim: z.string().min(1).default('roles'),
      /** Access tokens that are good for longer are refused: a person who leaves keeps a token until it ends. */
      maxTokenLifetimeSeconds: seconds.default(86_400),
      /**
       * Whether access tokens count that name no client, neither by `client_id` nor by `azp`. All programs of a person are one caller
       * then, and an agent that holds an approver's token cannot be kept from approving its own call.
       */
      allowTokensWithoutClient: z.boolean().default(false),
      ...signInSettings,
      /** Who exists in the embedded provider. Every name can get a token; approvers and auditors can sign in. */
      people: z.array(person).default([
        { name: 'agent', displayName: 'Demo agent', roles: ['agent'] },
        { name: 'alice', displayName: 'Alice Approver', roles: ['approver'] },
        { name: 'bob', displayName: 'Bob Approver', roles: ['approver', 'agent'] },
        { name: 'olivia', displayName: 'Olivia Auditor', roles: ['auditor'] },
      ]),
    })
    .prefault({}),
  directory: z
    .strictObject({
      /** Users and groups as a SCIM list in JSON, read again when it changes. Relative to the configuration file. Default: none. */
      file: z.string().optional(),
      /** Which attribute of a user is the subject in tokens and requests. */
      subjectAttribute: z.enum(SUBJECT_ATTRIBUTES).default('userName'),
    })
    .prefault({}),
  temporal: z
    .strictObject({
      /** `host:port` of a Temporal frontend, which the worker speaks to. Default: the embedded development server. */
      address: z.string().optional(),
      namespace: z.string().default('default'),
      taskQueue: z.string().default('countersign'),
      tls: z.boolean().default(false),
    })
    .prefault({}),
});

export type ConfigFile = z.infer<typeof configSchema>;
export type Person = z.infer<typeof person>;

/** The validated configuration with every address resolved. Plain data, frozen, safe to log. */
export interface Config extends ConfigFile {
  /** Folder of the configuration file; relative paths in it start here. */
  readonly baseDir: string;
  /** Folder for everything the embedded parts keep: database, Temporal store, keys, logs. */
  readonly stateDir: string;
  readonly signature: { readonly pinning: Pinning };
  /** How gateway and worker reach the authority side. */
  readonly authority: ReturnType<typeof authorityOf>;
  /** Where the keys of binding tokens and of approvals are. */
  readonly keyUrls: { readonly pdp: string; readonly approvals: string };
  readonly urls: {
    readonly gateway: string;
    /** The MCP endpoint, which is also the audience of agents' tokens. */
    readonly mcp: string;
    readonly pdp: string;
    readonly approvals: string;
    /** Submission URL of the access request service; audience of binding tokens (PRJ-03). */
    readonly accessRequests: string;
    readonly audit: string;
    readonly issuer: string;
  };
}

const trimSlash = (url: string) => url.replace(/\/+$/, '');

/** Fills defaults and resolves addresses. Throws a `ZodError` when the file says something it may not. */
export function parseConfig(raw: unknown, at: { baseDir: string; stateDir: string }): Config {
  const file = configSchema.parse(raw ?? {});
  const local = (section: { port: number; url?: string | undefined }) =>
    trimSlash(section.url ?? `http://${file.host}:${section.port}`);
  const gateway = local(file.gateway);
  const approvals = local(file.approvals);
  // An identifier is compared byte by byte, so it stays as it is written.
  const pdp = file.pdp.url ?? local(file.pdp);
  const accessRequests = file.accessRequests.url ?? `${approvals}/access/v1/requests`;
  return Object.freeze({
    ...file,
    authority: authorityOf({ ...file, baseDir: at.baseDir }, { urls: { pdp, accessRequests } }),
    baseDir: at.baseDir,
    stateDir: at.stateDir,
    requirements: withAbsoluteFiles(file.requirements, at.baseDir),
    obligations: withAbsoluteFiles(file.obligations, at.baseDir),
    directory: { ...file.directory, ...(file.directory.file && { file: resolve(at.baseDir, file.directory.file) }) },
    mcpServers: withAbsoluteSecrets(file.mcpServers, at.baseDir),
    signature: { pinning: file.signature.pinning ?? (file.mode === 'production' ? 'accepted' : 'first-seen') },
    pdp: {
      ...file.pdp,
      enforcementPoints: withAbsoluteFiles(file.pdp.enforcementPoints, at.baseDir),
      policies: resolve(at.baseDir, file.pdp.policies),
      ...(file.pdp.decisionLog && { decisionLog: resolve(at.baseDir, file.pdp.decisionLog) }),
      engine: withAbsoluteCertificate(file.pdp.engine, at.baseDir),
    },
    approvals: {
      ...file.approvals,
      clients: withAbsoluteFiles(file.approvals.clients, at.baseDir),
      notifications: withAbsoluteFiles(file.approvals.notifications, at.baseDir),
      resolvers: withAbsoluteFiles(file.approvals.resolvers, at.baseDir),
      catalogs: withAbsoluteCatalogs(file.approvals.catalogs, at.baseDir),
    },
    keyUrls: {
      pdp: file.pdp.jwksUrl ?? `${trimSlash(pdp)}/access/v1/jwks`,
      approvals: file.accessRequests.jwksUrl ?? `${approvals}/access/v1/jwks`,
    },
    urls: {
      gateway,
      mcp: `${gateway}/mcp`,
      pdp,
      approvals,
      accessRequests,
      audit: local(file.audit),
      // Tokens name it, and it is compared byte by byte.
      issuer: file.identity.issuer ?? `http://${file.host}:${file.identity.port}`,
    },
  });
}
