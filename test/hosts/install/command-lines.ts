import { existsSync } from 'node:fs';
import { packagePath } from '../../../apps/shared/config/files.ts';
import { installForeign, type ForeignPrograms } from '../../support/foreign.ts';
import { demand } from './programs.ts';
import { NotHere, type Driver, type Host, type Installing } from '../row.ts';

/** Where npm has the packages of programs that are not written in JavaScript. */
const PLATFORM = `${process.platform}-${process.arch}`;

/** Starts a driver of `command-lines`, on the Node.js of this repository. */
export function commandLineDriver(name: string, args: readonly string[] = []): Driver {
  const loader = packagePath('test', 'support', 'typescript.mjs');
  const driver = packagePath('test', 'hosts', 'command-lines', `${name}.ts`);
  return { command: process.execPath, args: ['--no-warnings', '--import', loader, driver, ...args] };
}

/** Installs a host that is a program, from `test/foreign/hosts-<name>`. `programOf`: where its packages have it. */
async function installProgram(
  name: string,
  { say }: Installing,
  programOf: (programs: ForeignPrograms) => string,
  driver = name,
): Promise<Driver> {
  const program = programOf(await installForeign(`hosts-${name}`, say));
  if (!existsSync(program))
    throw new NotHere(`npm has no ${name} for ${PLATFORM}: run this on Linux with an x64 processor`);
  return { ...commandLineDriver(driver), env: { HOST_PROGRAM: program } };
}

export const installGeminiCli: Host['install'] = (installing) =>
  installProgram('gemini-cli', installing, (of) => of.path('@google/gemini-cli', 'bundle', 'gemini.js'));

export const installCodex: Host['install'] = (installing) =>
  installProgram('codex', installing, (of) => of.path('@openai/codex', 'bin', 'codex.js'));

const claudeCodeOf = (of: ForeignPrograms) => of.path(`@anthropic-ai/claude-code-${PLATFORM}`, 'claude');

export const installClaudeCode: Host['install'] = (installing) =>
  installProgram('claude-code', installing, claudeCodeOf);

export const installClaudeCodeInTerminal: Host['install'] = async (installing) => {
  await demand('tmux', ['-V'], 'install tmux (Debian: apt-get install tmux)');
  return installProgram('claude-code', installing, claudeCodeOf, 'claude-code-terminal');
};
