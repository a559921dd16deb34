// Preloaded into a process: each HTTP request that arrives there becomes a line in the file that the environment names,
// with the time in milliseconds, the port and the path.
import { appendFileSync } from 'node:fs';
import { subscribe } from 'node:diagnostics_channel';

subscribe('http.server.request.start', ({ request, socket }) => {
  const line = JSON.stringify({ at: Date.now(), port: socket.localPort, path: request.url });
  appendFileSync(process.env.COUNTERSIGN_TEST_REQUESTS, `${line}\n`);
});
