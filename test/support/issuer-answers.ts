import { afterAll } from '@jest/globals';

type Answer = (real: () => Promise<Response>, request: Request) => Promise<Response> | Response;

/**
 * The product's requests over `fetch`, by path, and answers that replace the real ones, for an issuer other than the
 * embedded one. Call it outside of any test; it is undone after the last one of the file, or of the block.
 */
export function issuerAnswers() {
  const original = globalThis.fetch;
  const asked: string[] = [];
  const scripted = new Map<string, Answer>();
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    const real = () => original(input, init);
    return (await scripted.get(pathname)?.(real, request)) ?? real();
  };
  afterAll(() => {
    globalThis.fetch = original;
  });
  return {
    /** The number of these requests since `forget`. */
    count: (path: string) => asked.filter((one) => one === path).length,
    forget: () => void asked.splice(0),
    answer: (path: string, how: Answer) => void scripted.set(path, how),
    asItIs: () => scripted.clear(),
  };
}

/** An answer with some changed members; `undefined` leaves one out. */
export const altered =
  (changes: Record<string, unknown>): Answer =>
  async (real) => {
    const response = await real();
    return Response.json({ ...((await response.json()) as object), ...changes }, { status: response.status });
  };
