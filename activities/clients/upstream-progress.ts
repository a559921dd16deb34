import type { Client } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { Progress } from '../../workflows/domain/upstream-ports.ts';

const PROGRESS = 'notifications/progress';

/**
 * Who is told of which progress. The SDK would do so, too, and forgets whom to tell as soon as the answer arrives: a notice
 * that comes in one piece with the answer would be lost.
 */
export class ProgressNotices {
  readonly #listeners = new Map<string, (progress: Progress) => void>();
  #tokens = 0;

  /** Hears the notices of this client from now on. */
  hear(client: Client): void {
    client.setNotificationHandler(PROGRESS, ({ params: { progressToken, progress, total, message } }) =>
      this.#listeners.get(String(progressToken))?.({
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      }),
    );
  }

  /** The parameters with which progress is asked for, and how to listen no more. Without a listener: as they are. */
  expect(
    params: JsonObject,
    listener: ((progress: Progress) => void) | undefined,
  ): { readonly asking: JsonObject; readonly forget: () => void } {
    if (listener === undefined) return { asking: params, forget: () => undefined };
    const token = `progress-${(this.#tokens += 1)}`;
    this.#listeners.set(token, listener);
    const meta = params['_meta'] as JsonObject | undefined;
    return {
      asking: { ...params, _meta: { ...meta, progressToken: token } },
      forget: () => void this.#listeners.delete(token),
    };
  }
}
