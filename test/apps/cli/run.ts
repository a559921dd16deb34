import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { readEnvironment } from '../../../apps/shared/config/env.ts';
import { runCli } from '../../../apps/cli/program.ts';
import { testRunFolder } from '../../support/test-run.ts';
import { PATIENT_FACTOR } from '../../support/time.ts';

/** A folder of the test run with a configuration, in which command lines are run in this process. */
export class Desk {
  readonly folder = mkdtempSync(join(testRunFolder(), 'cli-'));
  readonly stateDir = join(this.folder, 'state');

  /** A configuration as an object gets patient time limits, last in the file. A text stays as it is. */
  constructor(config: object | string) {
    const text = typeof config === 'string' ? config : stringify({ ...config, timeLimitFactor: PATIENT_FACTOR });
    writeFileSync(join(this.folder, 'countersign.yaml'), text);
  }

  /** Runs one command line. `answer`: the answer of the person at the terminal; without it there is no terminal. `input`: the piped text. */
  async run(
    args: readonly string[],
    { env = {}, answer, input = '' }: { env?: Record<string, string>; answer?: string; input?: string } = {},
  ) {
    const out: string[] = [];
    const err: string[] = [];
    const questions: string[] = [];
    const ask = async (question: string) => {
      questions.push(question);
      return answer ?? '';
    };
    const code = await runCli(args, {
      out: (line) => void out.push(line),
      err: (line) => void err.push(line),
      input: () => Promise.resolve(input),
      ...(answer !== undefined && { ask }),
      environment: readEnvironment({ PATH: process.env['PATH'], COUNTERSIGN_STATE: this.stateDir, ...env }),
      cwd: this.folder,
    });
    return { code, out: out.join('\n'), err: err.join('\n'), questions };
  }
}

/** A desk whose folder is empty. */
export function emptyDesk(): Desk {
  const desk = new Desk('');
  rmSync(join(desk.folder, 'countersign.yaml'));
  return desk;
}
