import type { Timing } from '../../shared/limits.ts';
import { isObject } from '../../../workflows/domain/canonical-json.ts';

/** Comment lines keep proxies and clients from taking a quiet stream for a dead one. */
const KEEP_ALIVE_MS = 15_000;
const encoder = new TextEncoder();

/**
 * The answer to a request, or a stream that ends with it, if it is not there in time. A call may wait for a person, or run for long, and some
 * clients give up after a minute without a byte, not even a header. The stream has a comment now and then, and the answer is its one message.
 *
 * @param asked The parsed body. The answer to anything but one request is not waited for here.
 * @see MCP, Streamable HTTP: the answer to a request is either JSON or a stream
 */
export async function withFirstByte(
  { request, asked }: { readonly request: Request; readonly asked: unknown },
  answering: Promise<Response>,
  timing: Timing,
): Promise<Response> {
  const takesStream = request.headers.get('accept')?.includes('text/event-stream') === true;
  if (request.method !== 'POST' || !takesStream || !isObject(asked) || asked['id'] === undefined) return answering;
  let inTime: () => void = () => undefined;
  const late = new Promise<undefined>((resolve) => {
    inTime = timing.clock.once(timing.limits.firstByteMs, () => resolve(undefined));
  });
  const first = await Promise.race([answering, late]).finally(() => inTime());
  return first ?? streamOf(answering, timing);
}

function streamOf(answering: Promise<Response>, { clock }: Timing): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  // It rejects once the client has gone. Then nothing is left to do: its request was aborted, too.
  const write = (text: string) => writer.write(encoder.encode(text)).catch(() => undefined);
  const keepAlive = () => void write(': keep-alive\n\n');
  const quiet = clock.every(KEEP_ALIVE_MS, keepAlive);
  keepAlive();
  const send = async (answer: Response) => {
    quiet();
    if (answer.body !== null && answer.headers.get('content-type')?.startsWith('text/event-stream') === true) {
      writer.releaseLock();
      return answer.body.pipeTo(writable);
    }
    await write(`event: message\ndata: ${await answer.text()}\n\n`);
    return writer.close();
  };
  writer.closed.catch(() => undefined).finally(quiet);
  answering.then(send).catch((error: unknown) => {
    quiet();
    return writable.abort(error).catch(() => undefined);
  });
  return new Response(readable, { headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } });
}
