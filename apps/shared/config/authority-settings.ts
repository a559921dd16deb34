import { resolve } from 'node:path';
import * as z from 'zod';
import { isTrustworthy, listOf, off, section, text, trustworthyUrl } from './units.ts';

/** How gateway and worker authenticate to a service. The token is a separate secret. */
const credentialSettings = {
  credentialHeader: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'use letters, digits and dashes')
    .default('authorization')
    .describe(
      'Header that carries the token. `authorization` carries it as `Bearer …`. Any other header carries the token alone, as API ' +
        'keys do.',
    ),
  clientCertificate: z
    .strictObject({
      certificate: text.describe('PEM file with the certificate.'),
      key: text.describe('PEM file with the private key.'),
      ca: text
        .optional()
        .describe('PEM file with the certificate authorities that Countersign trusts for the service.'),
    })
    .optional()
    .describe(
      'Client certificate, for services that require one. Each process reads the files when it starts. Relative paths start at ' +
        'the folder of the configuration file.',
    ),
};

/** How to reach the PDP, ours or a foreign one. */
export const pdpReachSettings = {
  url: z
    .url()
    .optional()
    .describe(
      'Identifier of the PDP (`policy_decision_point`). It is compared byte by byte, and its metadata names the endpoints. ' +
        'Without it, the PDP of Countersign decides.',
    ),
  allowHttp: off.describe('Allows plain http to another machine. Use it only where the network protects the traffic.'),
  metadata: z
    .enum(['used', 'ignored'])
    .default('used')
    .describe(
      'With `ignored`, Countersign does not read the metadata of the PDP. It uses the paths of AuthZEN below `url`.',
    ),
  signedMetadata: z
    .strictObject({
      issuer: text.describe('Issuer that signs the metadata.'),
      jwksUrl: trustworthyUrl.describe('Address of the key set of that issuer.'),
    })
    .optional()
    .describe(
      'Who signs the metadata of the PDP. When it is set, Countersign refuses metadata without that signature.',
    ),
  jwksUrl: trustworthyUrl
    .optional()
    .describe('Key set of the binding tokens, for the access request service. Without it, the key set of the own PDP.'),
  trustedOrigins: listOf(trustworthyUrl).describe(
    'Further origins that Countersign may ask for decisions, with the credential of the PDP. The metadata of the PDP must ' +
      'name them. Documents about access requests may come from them too.',
  ),
  ...credentialSettings,
};

/** How to reach the access request service, ours or a foreign one. */
export const accessRequestReach = section({
  url: trustworthyUrl
    .optional()
    .describe(
      'Address to which the gateway submits access requests, and issuer of their approvals. Without it, the address in the ' +
        'metadata of another PDP, or else the own service.',
    ),
  jwksUrl: trustworthyUrl
    .optional()
    .describe('Key set of its approvals, for the own PDP. Without it, the key set of the own service.'),
  trustedOrigins: listOf(trustworthyUrl).describe(
    'Further origins that may receive access requests, with the credential of their service. Metadata, denials or handles ' +
      'must name them.',
  ),
  ...credentialSettings,
}).describe('How gateway and worker reach the access request service.');

interface Reach {
  /** Folder where relative file names start. */
  readonly baseDir: string;
  readonly pdp: z.infer<z.ZodObject<typeof pdpReachSettings>>;
  readonly accessRequests: z.infer<typeof accessRequestReach>;
  readonly approvals: { readonly url?: string | undefined };
}

/** Plain http to another machine needs `allowHttp`. */
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
      /** Undefined: the address in the metadata of the PDP. */
      url: isNamedByPdp ? undefined : urls.accessRequests,
      credential: credentialOf(accessRequests, baseDir),
      // The PDP that names the service can be that service itself.
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

/** Relative file names start at `baseDir`, not at the folder of the process. */
export function absoluteFiles(
  { certificate, key, ca }: NonNullable<z.infer<typeof credentialSettings.clientCertificate>>,
  baseDir: string,
) {
  const at = (file: string) => resolve(baseDir, file);
  return { certificate: at(certificate), key: at(key), ...(ca !== undefined && { ca: at(ca) }) };
}
