import { afterAll } from '@jest/globals';

type Answer = (real: () => Promise<Response>, request: Request) => Promise<Response> | Response;

/**
 * What the product asks over `fetch`, by path, and answers that take the place of the real ones: an issuer that is another one than
 * the embedded. Call it outside of any test; it is undone after the last one of the file, or of the block.
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
    /** How often this was asked since `forget`. */
    count: (path: string) => asked.filter((one) => one === path).length,
    forget: () => void asked.splice(0),
    answer: (path: string, how: Answer) => void scripted.set(path, how),
    asItIs: () => scripted.clear(),
  };
}

/** An answer with some members changed; `undefined` leaves one out. */
export const altered =
  (changes: Record<string, unknown>): Answer =>
  async (real) => {
    const response = await real();
    return Response.json({ ...((await response.json()) as object), ...changes }, { status: response.status });
  };
