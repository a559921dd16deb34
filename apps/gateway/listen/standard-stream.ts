import { EventSourceParserStream } from 'eventsource-parser/stream';

/** The standard notifications of a subscription, as the SDK sends them. */
export interface StandardStream {
  /** What of the filter it serves. */
  readonly honored: Readonly<Record<string, unknown>>;
  /** Hands each notification on until there will be no more. */
  relay(to: (notification: object) => Promise<void>): Promise<void>;
  cancel(): Promise<void>;
}

/** Reads the stream with which the SDK answers `subscriptions/listen`. Its first message says what it serves. */
export async function readStandardStream(answer: Response): Promise<StandardStream> {
  if (answer.body === null) throw new Error('the protocol layer answered a subscription with nothing');
  const reader = answer.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  const next = async () => {
    const { value } = await reader.read();
    return (
      value && (JSON.parse(value.data) as { method?: string; params?: { notifications?: Record<string, unknown> } })
    );
  };
  const acknowledged = await next();
  return {
    honored: acknowledged?.params?.notifications ?? {},
    async relay(to) {
      for (let message = await next(); message?.method !== undefined; message = await next()) await to(message);
    },
    cancel: () => reader.cancel().catch(() => undefined),
  };
}
