import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * How many files and connections this process may have open; undefined where the system sets no limit. To ask takes some 30 milliseconds.
 */
export function openFilesLimit(): number | undefined {
  const { report } = process;
  // Otherwise the report looks up the names of all peers.
  Object.assign(report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as unknown as { userLimits?: { open_files?: { soft: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}

/** Connections of clients get this part of the files. The rest is for the database, upstreams, programs, the engine and files. */
const SHARE = 0.5;
let most: number | undefined;
/** Of all servers of this process together, because they share its files. */
let open = 0;
const servers = new Set<Server>();

/**
 * Keeps clients from using up the files that a process may open: then it could open no connection to its database, and the engine's sandbox
 * would abort the process. Where it is full, idle connections are closed, and new ones are refused until there is room.
 */
export function keepRoom(server: Server): void {
  most ??= Math.floor((openFilesLimit() ?? Infinity) * SHARE);
  const places = most;
  servers.add(server);
  server.once('close', () => servers.delete(server));
  server.on('connection', (socket: Socket) => {
    if (open >= places) {
      for (const one of servers) one.closeIdleConnections();
      return void socket.destroy();
    }
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
  });
}
