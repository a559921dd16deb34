import { afterAll } from '@jest/globals';

/**
 * jest gives each file its own built-ins, while bodies that `fetch` parses are made of Node's. Clients that insist on
 * plain objects do not know those; this makes bodies be parsed with the file's own. Call it outside of any test; it is undone
 * after the last one of the file, or of the block.
 */
export function parseBodiesInThisRealm(): void {
  const original = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const response = await original(input, init);
    return Object.assign(response, { json: async () => JSON.parse(await response.text()) as unknown });
  };
  afterAll(() => {
    globalThis.fetch = original;
  });
}
