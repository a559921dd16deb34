import { CountersignError } from '../../workflows/domain/errors.ts';

/** Why something did not start, for the person who started it: what is wrong and what to do, without a stack trace. */
export function startFailure(error: unknown): string {
  if (error instanceof CountersignError) return error.message;
  if (error instanceof Error && 'code' in error) {
    const port = 'port' in error ? String(error.port) : 'needed';
    if (error.code === 'EADDRINUSE') {
      return `port ${port} is in use. Stop what listens there, or set another port in countersign.yaml`;
    }
    if (error.code === 'EACCES' && 'port' in error) {
      return `port ${port} may not be used by this user. Set a port above 1023 in countersign.yaml`;
    }
    if (error.code === 'ENOTFOUND' && 'hostname' in error) {
      return `there is no host called ${String(error.hostname)}. Mend the address that names it`;
    }
    if (error.code === 'ECONNREFUSED') return `nothing answers at port ${port}. Is the server there running?`;
  }
  return error instanceof Error ? error.message : String(error);
}
