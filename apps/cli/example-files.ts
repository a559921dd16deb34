import { join } from 'node:path';
import type { Config } from '../shared/config/config.ts';

/** Where the file server of the example configuration keeps its files. The start makes the folder. */
export const exampleFiles = ({ stateDir }: Pick<Config, 'stateDir'>): string => join(stateDir, 'files');
