import { TestWorkflowEnvironment } from '@temporalio/testing';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pino from 'pino';
import { packagePath } from '../../apps/shared/config/files.ts';
import { installRuntime } from '../../apps/shared/temporal/worker.ts';
import { temporalTools } from './obtain-temporal.mjs';

const POM = packagePath('test', 'support', 'time-skipping.pom.xml');
const FOLDER = 'temporal-test-server-1.31.0';
/** The SDK gives the server five seconds to start, which is short for a virtual machine on a busy host. */
const STARTS = 12;
const FETCH_MS = 300_000;
const PROGRAM = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$here/lib/*" io.temporal.testserver.TestServer "$@"
`;
const HOW_TO_INSTALL =
  'The engine whose time can be skipped could not be obtained. Put java (17 or later) and mvn on the PATH, with access to Maven Central.';

/**
 * An engine in which a pause lasts as long as the test wants: while a client waits for a result there, or sleeps, it
 * goes on to the next timer as soon as all workflows are idle. A test without it fails and says what to install.
 */
export async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  const path = await obtainServer().catch((cause: unknown) => {
    throw new Error(HOW_TO_INSTALL, { cause });
  });
  installRuntime(pino({ enabled: false }));
  for (let tries = 1; ; tries += 1) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path } },
      });
    } catch (error) {
      if (tries === STARTS) throw error;
    }
  }
}

/** The program that starts the server; fetched once, and kept over test runs. */
async function obtainServer(): Promise<string> {
  const { cacheDir } = temporalTools();
  const folder = join(cacheDir, FOLDER);
  const program = join(folder, 'server');
  if (existsSync(program)) return program;
  mkdirSync(cacheDir, { recursive: true });
  const making = mkdtempSync(join(cacheDir, 'fetching-'));
  try {
    const copy = ['dependency:copy-dependencies', `-DoutputDirectory=${join(making, 'lib')}`, '-DincludeScope=runtime'];
    await promisify(execFile)('mvn', ['-q', '-B', '-f', POM, ...copy], { timeout: FETCH_MS });
    writeFileSync(join(making, 'server'), PROGRAM, { mode: 0o755 });
    // Moved as a whole or not at all; another process that downloaded it at the same time has the same content.
    if (!existsSync(folder)) renameSync(making, folder);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return program;
}
