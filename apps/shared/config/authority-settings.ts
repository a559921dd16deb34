import { resolve } from 'node:path';
import * as z from 'zod';
import { isTrustworthy } from './units.ts';

const trustworthy = z.url().refine(isTrustworthy, 'it is reached by https, or by http on this machine alone');
const fileName = z.string().min(1);

/** How gateway and worker show a service who they are. The token is a secret of its own. */
const credentialSettings = {
  credentialHeader: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'letters, digits and dash')
    .default('authorization')
    .describe(
      'Header that carries the token. `authorization` carries it as `Bearer …`. Any other header carries the token alone, as API ' +
        'keys do.',
    ),
  clientCertificate: z
    .strictObject({
      certificate: fileName.describe('PEM file with the certificate.'),
      key: fileName.describe('PEM file with the private key.'),
      ca: fileName.optional().describe('PEM file with the authorities that the service is checked against.'),
    })
    .optional()
    .describe(
      'Client certificate, for services that require one. Each process reads the files when it starts. Relative paths start at ' +
        'the folder of the configuration file.',
    ),
};

/** How to reach the PDP: ours, or a foreign one. */
export const pdpReachSettings = {
  url: z
    .url()
    .optional()
    .describe(
      'Identifier of the PDP (`policy_decision_point`). It is compared byte by byte, and its metadata names the endpoints. ' +
        'Without it, the PDP of Countersign decides.',
    ),
  allowHttp: z
    .boolean()
    .default(false)
    .describe('Allows plain http to another machine. Use it only where the network protects the traffic.'),
  metadata: z
    .enum(['used', 'ignored'])
    .default('used')
    .describe(
      'With `ignored`, Countersign does not read the metadata of the PDP. It uses the paths of AuthZEN below `url`.',
    ),
  signedMetadata: z
    .strictObject({
      issuer: z.string().min(1).describe('Issuer that signs the metadata.'),
      jwksUrl: trustworthy.describe('Address of the key set of that issuer.'),
    })
    .optional()
    .describe(
      'Who signs the metadata of the PDP. When it is set, Countersign refuses metadata without that signature.',
    ),
  jwksUrl: trustworthy
    .optional()
    .describe('Key set of the binding tokens, for the access request service. Without it, the key set of the own PDP.'),
  trustedOrigins: z
    .array(trustworthy)
    .default([])
    .describe(
      'Further origins that Countersign may ask for decisions, with the credential of the PDP. The metadata of the PDP must ' +
        'name them. Documents about access requests may come from them too.',
    ),
  ...credentialSettings,
};

/** How to reach the access request service: ours, or a foreign one. */
export const accessRequestReach = z
  .strictObject({
    url: trustworthy
      .optional()
      .describe(
        'Address to which the gateway submits access requests, and issuer of their approvals. Without it, the address that the ' +
          'metadata of another PDP names. Else the own service.',
      ),
    jwksUrl: trustworthy
      .optional()
      .describe('Key set of its approvals, for the own PDP. Without it, the key set of the own service.'),
    trustedOrigins: z
      .array(trustworthy)
      .default([])
      .describe(
        'Further origins that may receive access requests, with the credential of their service. Metadata, denials or handles ' +
          'must name them.',
      ),
    ...credentialSettings,
  })
  .prefault({})
  .describe('How gateway and worker reach the access request service.');

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
