import type { SignatureContents, SignatureDocument } from '../../../workflows/domain/tools/signature.ts';
import type { Redaction } from '../redaction.ts';
import { renderDocument } from '../wire/render-signature.ts';
import type { Rendering } from '../wire/rendering.ts';
import type { Signature } from './signature.ts';

/** The signature as it is published now. Throws `ERR_DATABASE_UNAVAILABLE` when it was never read. */
export type ReadDocument = () => Promise<SignatureDocument>;

/** Made once for each signature, whoever asks for it and where. */
export function createDocument(
  signature: Pick<Signature, 'contents'>,
  redaction: Pick<Redaction, 'withholds'>,
  rendering: Pick<Rendering, 'requestTools'>,
): ReadDocument {
  let made: { readonly contents: SignatureContents; readonly document: SignatureDocument } | undefined;
  return async () => {
    const contents = await signature.contents();
    if (made?.contents !== contents) {
      made = { contents, document: renderDocument(contents, redaction, rendering) };
    }
    return made.document;
  };
}
