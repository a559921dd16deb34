// Runs in a separate process, which a test then kills: starts PostgreSQL in the folder named by the argument.
import { findOrStartPostgres } from '../../apps/shared/embedded/postgres.ts';

const server = await findOrStartPostgres({ stateDir: process.argv[2] ?? '', searchPath: process.env['PATH'] ?? '' });
process.stdout.write(`${server.url}\n`);
setInterval(() => undefined, 60_000);
