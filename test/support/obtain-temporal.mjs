import { homedir } from 'node:os';
import { join } from 'node:path';

/** The folders in which `temporal` is searched, and kept over test runs. */
export function temporalTools() {
  const variables = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined));
  const cacheDir = join(variables.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'countersign');
  return { searchPath: variables.PATH ?? '', cacheDir, variables };
}

/**
 * Finds the Temporal CLI, or downloads or builds it, before any test waits for a server of it: a build takes minutes of
 * both processors. @param {(line: string) => void} say called with each step @returns {Promise<string>} its source, or
 * every source that was tried
 */
export async function obtainTemporal(say) {
  // Imported late: in a bare clone no code is built yet when this file is loaded.
  const { findTemporalProgram } = await import('../../dist/apps/shared/embedded/temporal-program.js');
  const tried = [];
  const program = await findTemporalProgram({ ...temporalTools(), onProgress: say, tried });
  return (
    program?.how ?? ['Temporal was not found. Tests that need an engine will fail. Tried:', ...tried].join('\n    ')
  );
}
