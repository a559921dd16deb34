import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '../../apps/shared/config/env.ts';

export const KEYCLOAK_VERSION = '26.7.3';
const ARTIFACT = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK_VERSION}:zip`;
const UNPACK = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack';
const FETCH_MS = 540_000;
const OLDEST_JAVA = 17;

const run = promisify(execFile);

/** The reason why Keycloak cannot be had on this machine, and what to do. */
export class NoKeycloak extends Error {}

/**
 * The folder of Keycloak's distribution; fetched from Maven Central with Maven's own client once, and kept in the cache of programs.
 * Throws a `NoKeycloak` without java, mvn or access to Maven Central.
 */
export async function obtainKeycloak(say: (line: string) => void): Promise<string> {
  await demandJava();
  const cache = join(readEnvironment().cacheDir, 'keycloak');
  const folder = join(cache, KEYCLOAK_VERSION);
  if (existsSync(folder)) return folder;
  await demand('mvn', 'install Apache Maven (Debian: apt-get install maven)');
  say(`fetching Keycloak ${KEYCLOAK_VERSION} from Maven Central (once)`);
  mkdirSync(cache, { recursive: true });
  // Moved into place as a whole: an interrupted start leaves no folder that looks complete.
  const fresh = mkdtempSync(join(cache, '.fresh-'));
  const args = ['-q', '-B', UNPACK, `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${fresh}`];
  try {
    await run('mvn', args, { cwd: fresh, timeout: FETCH_MS });
    const [content = ''] = readdirSync(fresh).filter((name) => name.startsWith('keycloak-'));
    renameSync(join(fresh, content), folder);
  } catch (cause) {
    throw new NoKeycloak(`Keycloak could not be fetched from Maven Central. Try: mvn ${args.slice(1, 4).join(' ')}`, {
      cause,
    });
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return folder;
}

async function demandJava(): Promise<void> {
  const install = `install Java ${OLDEST_JAVA} or newer (Debian: apt-get install openjdk-17-jre-headless)`;
  const { stderr } = await demand('java', install);
  const version = Number(/version "(\d+)/.exec(stderr)?.[1] ?? 0);
  if (version < OLDEST_JAVA) throw new NoKeycloak(`java has the version ${version}: ${install}`);
}

async function demand(program: string, install: string): Promise<{ stderr: string }> {
  try {
    return await run(program, ['-version']);
  } catch (cause) {
    throw new NoKeycloak(`there is no ${program} on the PATH: ${install}`, { cause });
  }
}
