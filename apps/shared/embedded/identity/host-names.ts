import { jsonIn } from '../../../../workflows/domain/canonical-json.ts';
import { readPrivately } from '../../private-file.ts';
import { contentSchema } from './host-file.ts';

/**
 * Names that hosts of the embedded issuer give themselves, by client id. They are claims of these programs. Empty if the file cannot be read, because
 * nothing depends on a name.
 */
export function hostNames(file: string): ReadonlyMap<string, string> {
  try {
    const text = readPrivately(file);
    const { clients, grants } = contentSchema.parse(text === undefined ? undefined : jsonIn(text));
    const agreed = Object.values(grants).flatMap(({ agreement }) =>
      agreement === undefined ? [] : [[agreement.clientId, agreement.clientName] as const],
    );
    const registered = Object.entries(clients).flatMap(([id, { metadata }]) =>
      typeof metadata['client_name'] === 'string' ? [[id, metadata['client_name']] as const] : [],
    );
    return new Map([...agreed, ...registered].filter(([, name]) => name !== ''));
  } catch {
    return new Map();
  }
}
