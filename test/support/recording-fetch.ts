/**
 * A `fetch` that keeps every byte of every answer, headers included, so that a test can check what a client got. Bodies
 * are parsed with the built-ins of the test file, as a client outside of jest would find them.
 */
export function recordingFetch(): { fetch: typeof fetch; received(): string } {
  const received: string[] = [];
  return {
    async fetch(input, init) {
      const response = await fetch(input, init);
      response.headers.forEach((value, name) => received.push(`${name}: ${value}\n`));
      if (response.body === null) return response;
      const decoder = new TextDecoder();
      const keep = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          received.push(decoder.decode(chunk, { stream: true }));
          controller.enqueue(chunk);
        },
      });
      const copy = new Response(response.body.pipeThrough(keep), response);
      return Object.assign(copy, { json: async () => JSON.parse(await copy.text()) as unknown });
    },
    received: () => received.join(''),
  };
}
