import type { Server } from '@modelcontextprotocol/server';
import type { Session } from '../session.ts';
import { SIGNATURE } from '../wire/identifiers.ts';
import { renderSignature } from '../wire/render-signature.ts';
import { anyParams } from '../wire/schemas.ts';
import type { ReadDocument } from './document.ts';

export interface SignatureMethodDeps {
  readonly readDocument: ReadDocument;
}

/** `signature`: everything that any list may ever have, in every revision. Being in it permits nothing (SIG-020). */
export function registerSignatureMethod(
  server: Server,
  { readDocument }: SignatureMethodDeps,
  { guarded }: Session,
): void {
  server.setRequestHandler(SIGNATURE, { params: anyParams }, () =>
    guarded(SIGNATURE, async () => renderSignature(await readDocument())),
  );
}
