import type { JSONRPCNotification, RequestId } from '@modelcontextprotocol/server';
import { randomText } from '../../shared/crypto.ts';

const ID_BYTES = 16;

/**
 * The ids of questions to the client of a session. The SDK counts its own from 0, so after a restart an answer could meet another question;
 * these are random.
 */
export class QuestionIds {
  /** The SDK's, by the one that the client sees. */
  readonly #asked = new Map<RequestId, RequestId>();

  shown(own: RequestId): string {
    const id = `ask-${randomText(ID_BYTES)}`;
    this.#asked.set(id, own);
    return id;
  }

  /** The SDK's id of an answered question, once. `undefined` for an answer that was not asked for. */
  answered(id: RequestId | undefined): RequestId | undefined {
    const own = id === undefined ? undefined : this.#asked.get(id);
    if (id !== undefined) this.#asked.delete(id);
    return own;
  }

  /** A question that is taken back, by the id that the client knows. Other notifications stay as they are. */
  takenBack(notification: JSONRPCNotification): JSONRPCNotification {
    if (notification.method !== 'notifications/cancelled') return notification;
    const own = notification.params?.['requestId'];
    const [id] = [...this.#asked].find(([, asked]) => asked === own) ?? [];
    if (id === undefined) return notification;
    this.#asked.delete(id);
    return { ...notification, params: { ...notification.params, requestId: id } };
  }
}
