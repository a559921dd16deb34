/**
 * jest gives each file its own built-ins, while bodies that `fetch` parses are made of Node's. Clients that insist on
 * plain objects do not know those; this makes bodies be parsed with the file's own. Answers how to undo it.
 */
export function parseBodiesInThisRealm(): () => void {
  const original = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const response = await original(input, init);
    return Object.assign(response, { json: async () => JSON.parse(await response.text()) as unknown });
  };
  return () => {
    globalThis.fetch = original;
  };
}
