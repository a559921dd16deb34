import { join } from 'node:path';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { installOnce, runInstaller } from '../../support/foreign.ts';
import { type Driver, type Installing, NotHere } from '../row.ts';
import { demand, DRIVERS } from './programs.ts';

const OLDEST = { major: 3, minor: 11 };
const HOW = 'install Python 3.11 or newer (Debian: apt-get install python3 python3-venv)';

/** Starts a driver with the packages of `test/foreign/<folder>`. */
export const installPython = async (name: string, installing: Installing, folder: string): Promise<Driver> => ({
  command: await pythonWith(folder, installing.say),
  args: [packagePath(...DRIVERS, `${name}.py`)],
});

/** Python in a virtual environment with the packages of `test/foreign/<folder>`, each with its digest, and built by its authors. */
export async function pythonWith(folder: string, say: Installing['say']): Promise<string> {
  const version = await demand('python3', ['--version'], HOW);
  const [, major = 0, minor = 0] = /(\d+)[.](\d+)/.exec(version)?.map(Number) ?? [];
  if (major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor))
    throw new NotHere(`${version} is too old: ${HOW}`);
  const installed = await installOnce({
    name: folder,
    lock: 'requirements.txt',
    also: `${major}.${minor}`,
    say,
    install: async (fresh) => {
      await runInstaller('python3', ['-m', 'venv', 'venv'], fresh);
      const from = ['--require-hashes', '--only-binary', ':all:', '--requirement', 'requirements.txt'];
      const how = ['--quiet', '--disable-pip-version-check', '--no-compile'];
      await runInstaller(pythonIn(fresh), ['-m', 'pip', 'install', ...how, ...from], fresh);
    },
  });
  return pythonIn(installed);
}

const pythonIn = (folder: string) => join(folder, 'venv', 'bin', 'python');
