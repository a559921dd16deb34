import { writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from '@temporalio/worker';
import { isEntryScript } from '../lifecycle.ts';

const here = fileURLToPath(import.meta.url);

let bundled: Promise<WorkflowBundle> | undefined;

/** Bundles the workflows of this tree, once per process: sources in development and tests, compiled files in a build. */
export function bundleWorkflows(): Promise<WorkflowBundle> {
  const pathOf = (name: string) =>
    fileURLToPath(new URL(`../../../workflows/${name}${extname(here)}`, import.meta.url));
  return (bundled ??= bundleWorkflowCode({
    workflowsPath: pathOf('index'),
    payloadConverterPath: pathOf('payload-converter'),
    logger: new DefaultLogger('WARN'),
  }));
}

/** A build stores the bundle here, so that a start need not make it. */
export const bundlePath = fileURLToPath(new URL('../../../workflow-bundle.js', import.meta.url));

if (isEntryScript(import.meta.url)) await writeFile(bundlePath, (await bundleWorkflows()).code);
