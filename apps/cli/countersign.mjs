#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { runCommand } from './setup.mjs';

// A checkout can be built where it stands; an installed package was built before.
await runCommand({ dev: existsSync(new URL('../../tsconfig.build.json', import.meta.url)) });
