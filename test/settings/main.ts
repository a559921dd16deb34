import { writeFileSync } from 'node:fs';
import { packagePath } from '../../apps/shared/config/files.ts';
import { documents } from './documents.ts';

// Writes the documents of the configuration schema: the table of settings, and the JSON Schema for editors.
for (const [path, content] of Object.entries(documents())) {
  writeFileSync(packagePath(path), content);
  process.stdout.write(`${path}\n`);
}
