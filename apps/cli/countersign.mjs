#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { runCommand } from './setup.mjs';

// A checkout is built on demand. An installed package contains its build.
await runCommand({ dev: existsSync(new URL('../../tsconfig.build.json', import.meta.url)) });
