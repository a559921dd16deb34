import { resolve } from 'node:path';
import * as z from 'zod';
import { isTrustworthy } from './units.ts';

const trustworthy = z.url().refine(isTrustworthy, 'it is reached by https, or by http on this machine alone');
const fileName = z.string().min(1);

/** How gateway and worker show a service who they are. The token is a secret of its own. */
const credentialSettings = {
  /** Header that has the token: `authorization` as `Bearer …`, any other the token alone, as API keys go. */
  credentialHeader: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'letters, digits and dash')
    .default('authorization'),
  /** PEM files, for services that want a client certificate: relative to the configuration file, read at the start. */
  clientCertificate: z.strictObject({ certificate: fileName, key: fileName, ca: fileName.optional() }).optional(),
};

/** How to reach the PDP, whoever made it. */
export const pdpReachSettings = {
  /** Identifier of the PDP (`policy_decision_point`), byte by byte; its endpoints are those of its metadata. Default: the embedded one. */
  url: z.url().optional(),
  /** Lets `url` be plain http to another machine: only where the network between the two protects what is sent. */
  allowHttp: z.boolean().default(false),
  /** `ignored`: the PDP's metadata is not looked for, and its endpoints are below `url`, where AuthZEN puts them. */
  metadata: z.enum(['used', 'ignored']).default('used'),
  /** Who signs the PDP's metadata. When it is set, metadata that is not signed is not used. */
  signedMetadata: z.strictObject({ issuer: z.string().min(1), jwksUrl: trustworthy }).optional(),
  /** Keys of the binding tokens, for the access request service. Default: where our own PDP has them. */
  jwksUrl: trustworthy.optional(),
  /**
   * Further origins that may be asked for decisions, with the credential for the PDP: those of endpoints that its metadata name. Documents
   * about access requests may be on them, too.
   */
  trustedOrigins: z.array(trustworthy).default([]),
  ...credentialSettings,
};

/** How to reach the access request service, whoever made it. */
export const accessRequestReach = z
  .strictObject({
    /** Where requests are submitted; issuer of its approvals. Default: with a PDP of somebody else's, what its metadata says; else our own. */
    url: trustworthy.optional(),
    /** Keys of its approvals, for our PDP. Default: where our own service has them. */
    jwksUrl: trustworthy.optional(),
    /** Further origins that may be sent access requests, with the credential for their service: those that metadata, denials and handles name. */
    trustedOrigins: z.array(trustworthy).default([]),
    ...credentialSettings,
  })
  .prefault({});

interface Reach {
  /** Where relative file names start. */
  readonly baseDir: string;
  readonly pdp: z.infer<z.ZodObject<typeof pdpReachSettings>>;
  readonly accessRequests: z.infer<typeof accessRequestReach>;
  readonly approvals: { readonly url?: string | undefined };
}

/** Refuses plain http to another machine, unless it was allowed. */
export const isHttpAllowed = ({ url, allowHttp }: Pick<Reach['pdp'], 'url' | 'allowHttp'>): boolean =>
  url === undefined || allowHttp || isTrustworthy(url);

/** How gateway and worker reach policy decision point and access request service. */
export function authorityOf(
  { pdp, accessRequests, approvals, baseDir }: Reach,
  { urls }: { urls: { readonly pdp: string; readonly accessRequests: string } },
) {
  const { metadata, signedMetadata, trustedOrigins } = pdp;
  const isNamedByPdp = pdp.url !== undefined && accessRequests.url === undefined && approvals.url === undefined;
  return {
    pdp: {
      ...{ url: urls.pdp, metadata, signedMetadata, credential: credentialOf(pdp, baseDir) },
      trusted: [urls.pdp, ...trustedOrigins],
    },
    accessRequests: {
      /** Undefined: the one that the PDP's metadata names. */
      url: isNamedByPdp ? undefined : urls.accessRequests,
      credential: credentialOf(accessRequests, baseDir),
      // A PDP that is to name the service may be both.
      trusted: [urls.accessRequests, ...(isNamedByPdp ? [urls.pdp] : []), ...accessRequests.trustedOrigins],
    },
  };
}

function credentialOf(
  { credentialHeader, clientCertificate }: z.infer<z.ZodObject<typeof credentialSettings>>,
  baseDir: string,
) {
  return { credentialHeader, clientCertificate: clientCertificate && absoluteFiles(clientCertificate, baseDir) };
}

/** The files of a client certificate, wherever the process was started. */
export function absoluteFiles(
  { certificate, key, ca }: NonNullable<z.infer<typeof credentialSettings.clientCertificate>>,
  baseDir: string,
) {
  const at = (file: string) => resolve(baseDir, file);
  return { certificate: at(certificate), key: at(key), ...(ca !== undefined && { ca: at(ca) }) };
}
