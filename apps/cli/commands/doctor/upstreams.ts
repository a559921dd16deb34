import { examineUpstreams } from '../../../gateway/main.ts';
import { systemClock } from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import type { Logger } from '../../../shared/logger.ts';
import { awaitsFirstStart, exampleFiles } from '../../example-files.ts';
import { fail, ok, reason, warn, type Finding } from './check.ts';

/** Whether each upstream can be connected, from where this command runs, and lists its tools. */
export async function checkUpstreams(config: Config, log: Logger): Promise<Finding[]> {
  const states = await examineUpstreams(config, { clock: systemClock, log });
  return states.map((state) => {
    const { upstream } = state;
    const name = `upstream ${upstream}`;
    if ('tools' in state) return ok(name, `tools: ${state.tools}`);
    if (awaitsFirstStart(config, upstream))
      return warn(name, `its folder ${exampleFiles(config)} does not exist yet`, 'the first `npm start` makes it');
    const isProgram = 'command' in (config.mcpServers[upstream] ?? {});
    const program = `start its program by hand, and mend mcpServers.${upstream} (command, args, env, cwd)`;
    const address = `start it, or mend mcpServers.${upstream} (url, headers, auth)`;
    return fail(name, reason(state.problem), isProgram ? program : address);
  });
}
